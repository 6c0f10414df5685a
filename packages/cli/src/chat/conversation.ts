import type { Approvals } from '../approvals/approvals.js';
import { EXIT } from '../exit-status.js';
import { Interruption } from '../interruption.js';
import { inspectStoredScript } from '../state/inspect.js';
import { ownCommand } from '../terminal/own-command.js';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { isUsageError, UsageError } from '../usage-error.js';
import { backgroundLines } from './background.js';
import { completeLine } from './complete-line.js';
import { readLine } from './commands-in-chat.js';
import { withMentions } from './file-mentions.js';
import { conversationSoFar } from '../view/conversation-so-far.js';
import type { ChatFlags, OpenChat } from './open-chat.js';
import { PromptReader } from './prompt-line.js';
import {
  filledPrompt,
  listConversations,
  moveToBackground,
  runCommand,
  runShell,
  type CommandPlace,
} from './run-command.js';
import { TypeAhead } from './type-ahead.js';
import { demandEnabledMode, reportPending, waitingScripts } from './waiting.js';

/** The active turn, which Ctrl-C ends. */
export class TurnInterruption {
  #current: Interruption | undefined;

  interrupt(): void {
    this.#current?.interrupt();
  }

  /**
   * Runs a turn. The first Ctrl-C suspends the open questions, or aborts the turn if no question is open. The second
   * Ctrl-C ends the process. Returns the status of the turn, or the status of the interruption.
   */
  async during(
    approvals: Approvals,
    turn: (signal: AbortSignal) => Promise<number>,
  ): Promise<{ status: number; isOver: boolean }> {
    const interruption = new Interruption();
    approvals.reopen();
    interruption.listen({ suspend: () => approvals.suspend(), beforeAbort: () => {} });
    this.#current = interruption;
    try {
      const status = await turn(interruption.signal);
      const { status: ended } = interruption;
      return { status: ended ?? status, isOver: ended !== undefined && ended !== EXIT.interrupted };
    } finally {
      this.#current = undefined;
      interruption.dispose();
    }
  }
}

export interface ConversationParts {
  readonly screen: Screen;
  readonly turns: TurnInterruption;
  /** Opens another conversation with the same options, except these. */
  readonly open: (changes: ChatFlags) => Promise<OpenChat>;
}

/** A conversation at a terminal: prompts and their results, until the user exits. Closes the conversation. */
export async function converse(opened: OpenChat, parts: ConversationParts): Promise<number> {
  const conversation = new Conversation(opened, parts);
  try {
    return await conversation.run();
  } finally {
    await conversation.chat.close();
  }
}

type Turn = (signal: AbortSignal) => Promise<number>;

/** Reads lines, and runs the turn of each, one at a time. */
class Conversation implements CommandPlace {
  readonly screen: Screen;
  readonly #parts: ConversationParts;
  readonly #reader: PromptReader;
  readonly #typeAhead: TypeAhead;
  #chat: OpenChat;
  /** The move of the turn to the background, if the user has asked for it. */
  #moving: Promise<void> | undefined;

  constructor(opened: OpenChat, parts: ConversationParts) {
    const { screen, turns } = parts;
    this.screen = screen;
    this.#parts = parts;
    this.#chat = opened;
    this.#reader = new PromptReader({
      sign: () => this.#sign(),
      earlier: earlierPrompts(opened),
      complete: (line) => completeLine(line, this.chat),
      changeMode: () => void this.chat.workbench.approvals.mode.advance(),
    });
    this.#typeAhead = new TypeAhead({
      screen,
      interrupt: () => turns.interrupt(),
      changeMode: () => screen.line(screen.style.dim(`  mode: ${this.chat.workbench.approvals.mode.advance()}`)),
      moveToBackground: () => {
        this.#moving ??= moveToBackground(this.chat, screen).catch((error: unknown) =>
          screen.notice(visibleLine((error as Error).message)),
        );
      },
    });
  }

  get chat(): OpenChat {
    return this.#chat;
  }

  async run(): Promise<number> {
    let status: number = EXIT.completed;
    greet(this.chat, this.screen);
    for (let text = await this.#next(); text !== undefined; text = await this.#next()) {
      const turn = await this.#turn(text);
      if (turn === 'exit') break;
      if (turn === undefined) continue;
      const end = await this.#during(turn);
      await this.#afterMove();
      if (await reportPending(this.chat, this.screen))
        this.screen.line('  here      /resume asks you now; you may also send another prompt first');
      if (end.isOver) return end.status;
      this.screen.line('');
      status = end.status === EXIT.suspended ? EXIT.suspended : EXIT.completed;
    }
    farewell(this.chat, this.screen);
    return status;
  }

  startNew(): void {
    this.#chat = this.chat.anew();
  }

  /** Continues with another conversation, or with other options. The mode stays. */
  async change(changes: ChatFlags): Promise<void> {
    const next = await this.#parts.open(changes);
    next.workbench.approvals.mode.current = this.chat.workbench.approvals.mode.current;
    const before = this.chat;
    this.#chat = next;
    await before.close();
    greet(next, this.screen);
  }

  /** Begins a new conversation if the turn has moved to the background. */
  async #afterMove(): Promise<void> {
    await this.#moving;
    this.#moving = undefined;
    const { thread } = this.chat;
    if (thread.handedOver === undefined) return;
    for (const line of backgroundLines({ runId: thread.handedOver, threadId: thread.id })) this.screen.line(line);
    this.startNew();
  }

  #during(turn: Turn) {
    const { turns } = this.#parts;
    const { approvals } = this.chat.workbench;
    return this.#typeAhead.during(() =>
      turns.during(approvals, (signal) => reportingMistakes(this.screen, () => turn(signal))),
    );
  }

  /** The next line: a queued one, or one that the user types now. Undefined if the user exits. */
  async #next(): Promise<string | undefined> {
    const queued = this.#typeAhead.next();
    if (queued === undefined) return nextPrompt(this.#reader, this.screen, this.#typeAhead.takeUnfinished());
    this.screen.line(`${this.#sign()}${visible(queued)}`);
    return queued;
  }

  /** The turn of a line. Undefined if the line needs none. */
  async #turn(line: string): Promise<Turn | 'exit' | undefined> {
    const typed = readLine(
      line,
      this.chat.prompts.map(({ name }) => name),
    );
    switch (typed.type) {
      case 'mistake':
        this.screen.warn(typed.message);
        return undefined;
      case 'prompt':
        return (signal) => this.#say(typed.text, signal);
      case 'shell':
        return (signal) => runShell(this.chat, this.screen, typed.command, signal);
      case 'template':
        return async (signal) => this.#say(await filledPrompt(this.chat, typed), signal);
      case 'command':
        if (typed.command === 'exit') return 'exit';
        if (typed.command === 'resume' && typed.rest === '') return (signal) => this.#resume(signal);
        if (typed.command === 'compact') return (signal) => this.#compact(signal);
        await reportingMistakes(this.screen, () => runCommand(typed.command, typed.rest, this));
        return undefined;
    }
  }

  async #say(prompt: string, signal: AbortSignal): Promise<number> {
    const { session, settings, workbench } = this.chat;
    const { text, attached } = await withMentions(prompt, settings.cwd);
    const note = workbench.approvals.mode.current === 'plan' ? `\n\n${PLAN_NOTE}` : '';
    return session.say(`${text}${note}`, signal, attached);
  }

  async #resume(signal: AbortSignal): Promise<number> {
    const scripts = await waitingScripts(this.chat);
    if (scripts.length > 0) return askAndResume(this.chat, scripts, signal);
    this.screen.line('No script of this conversation waits for you.');
    await listConversations(this);
    return EXIT.completed;
  }

  async #compact(signal: AbortSignal): Promise<number> {
    const { session, thread } = this.chat;
    if (thread.waitingScript !== undefined)
      throw new UsageError('A script of this conversation waits for your decision, so nothing is summarised: /resume');
    const sinceSummary = thread.history.slice(thread.history.findLastIndex(({ type }) => type === 'compaction') + 1);
    if (sinceSummary.every((item) => item.type === 'message' && item.role === 'system'))
      throw new UsageError('This conversation has nothing new to summarise.');
    return session.compact(signal);
  }

  #sign(): string {
    const { current } = this.chat.workbench.approvals.mode;
    return this.screen.style.bold(current === 'ask' ? '› ' : `${current} › `);
  }
}

/** Follows a prompt in plan mode. */
const PLAN_NOTE =
  '(Plan mode: only calls that read are allowed now. Describe the changes that you would make; the user then decides.)';

function earlierPrompts({ thread }: OpenChat): string[] {
  return thread.history
    .flatMap((item) => (item.type === 'message' && item.role === 'user' ? [item.content] : []))
    .toReversed();
}

/** The user's next prompt, which begins with the text that was typed before; undefined if the user exits. */
async function nextPrompt(reader: PromptReader, screen: Screen, begun: string): Promise<string | undefined> {
  for (let [wasInterrupted, text] = [false, begun]; ; text = '') {
    const line = await reader.read(text);
    if (line.type === 'text' && line.text.trim() !== '') return line.text;
    if (line.type === 'end' || (line.type === 'interrupt' && wasInterrupted)) return undefined;
    wasInterrupted = line.type === 'interrupt';
    if (wasInterrupted) screen.line(screen.style.dim('Press Ctrl-C again to exit.'));
  }
}

/** Reports a UsageError of a turn, so that the conversation continues. */
async function reportingMistakes(screen: Screen, turn: () => Promise<number>): Promise<number> {
  try {
    return await turn();
  } catch (error) {
    if (!isUsageError(error)) throw error;
    screen.notice(visibleLine(error.message));
    return EXIT.usage;
  }
}

/** Asks about each waiting script, one at a time. */
async function askAndResume(chat: OpenChat, scripts: readonly string[], signal: AbortSignal): Promise<number> {
  demandEnabledMode(chat.settings);
  let status: number = EXIT.suspended;
  for (const scriptId of scripts) {
    if (signal.aborted) return status;
    status = await askAbout(chat, scriptId, signal);
  }
  return status;
}

async function askAbout({ session, workbench }: OpenChat, scriptId: string, signal: AbortSignal): Promise<number> {
  const { pendingApprovals } = await inspectStoredScript(workbench.harness, scriptId);
  const decisions = (await workbench.approvals.asker()?.askAll(pendingApprovals)) ?? {};
  if (signal.aborted || Object.keys(decisions).length === 0) return EXIT.suspended;
  return session.resume({ scriptId, decisions, isInterrupted: false, force: false }, signal);
}

/** Lines of the screen for the greeting and the prompt. */
const OWN_ROWS = 6;

function greet({ chosen, thread, settings }: OpenChat, screen: Screen): void {
  const { bold, dim } = screen.style;
  const name = chosen.agent.name ?? chosen.agent.slug;
  const mode = settings.mode === 'enabled' ? '' : ` · mode ${settings.mode}`;
  screen.line(
    `${bold('toolscript')} ${dim(`· ${visibleLine(name)} (${visibleLine(chosen.model)}) · ${visibleLine(settings.cwd)}${mode}`)}`,
  );
  const earlier = thread.history.filter((item) => item.type === 'message' && item.role === 'user').length;
  const soFar = { rows: Math.max(screen.rows - OWN_ROWS, 4), columns: screen.columns, style: screen.style };
  const exportCommand = `${ownCommand()} threads export ${thread.id}`;
  for (const line of conversationSoFar(thread.history, { ...soFar, exportCommand })) screen.line(line);
  if (thread.waitingScript !== undefined)
    screen.line(`${screen.style.yellow('⏸')} A script waits for your decision: /resume asks you.`);
  if (earlier > 0) screen.line('');
  const state =
    earlier === 0
      ? 'Type a prompt.'
      : `Continuing ${thread.id} after ${earlier} ${earlier === 1 ? 'prompt' : 'prompts'}.`;
  screen.line(dim(`${state} /help lists commands, Shift-Tab the mode, Esc stops a turn, Ctrl-D exits.`));
}

function farewell({ thread }: OpenChat, screen: Screen): void {
  screen.toLineStart();
  if (thread.isKept) screen.line(screen.style.dim(`To continue: ${ownCommand()} --thread ${thread.id}`));
}
