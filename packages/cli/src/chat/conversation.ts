import type { Approvals } from '../approvals/approvals.js';
import { EXIT } from '../exit-status.js';
import { Interruption } from '../interruption.js';
import { inspectStoredScript } from '../state/inspect.js';
import { ownCommand } from '../terminal/own-command.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError } from '../usage-error.js';
import { commandIn, commandList, type ChatCommand } from './commands-in-chat.js';
import { conversationSoFar } from '../view/conversation-so-far.js';
import type { AskedModel } from './final-answer.js';
import type { OpenChat } from './open-chat.js';
import { PromptReader } from './prompt-line.js';
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

/** The model of a conversation. Ctrl-C ends each of its turns. */
export function askedModel({ session, workbench }: OpenChat, turns: TurnInterruption): AskedModel {
  return {
    say: async (prompt) => (await turns.during(workbench.approvals, (signal) => session.say(prompt, signal))).status,
    answer: () => session.finalAnswer,
  };
}

/** A conversation at a terminal: prompts and their results, until the user exits. */
export async function converse(opened: OpenChat, screen: Screen, turns: TurnInterruption): Promise<number> {
  let chat = opened;
  let status: number = EXIT.completed;
  const reader = new PromptReader(screen.style.bold('› '));
  greet(chat, screen);
  for (let text = await nextPrompt(reader, screen); text !== undefined; text = await nextPrompt(reader, screen)) {
    const command = typedCommand(text, screen);
    if (command === 'exit') break;
    if (command === 'new') chat = chat.anew();
    const turn = command === undefined ? sayTurn(chat, text) : commandTurn(command, chat, screen);
    if (turn === undefined) continue;
    const end = await turns.during(chat.workbench.approvals, (signal) => reportingMistakes(screen, () => turn(signal)));
    if (await reportPending(chat, screen))
      screen.line('  here      /resume asks you now; you may also send another prompt first');
    if (end.isOver) return end.status;
    screen.line('');
    status = end.status === EXIT.suspended ? EXIT.suspended : EXIT.completed;
  }
  farewell(chat, screen);
  return status;
}

/** The user's next prompt; undefined if the user exits. */
async function nextPrompt(reader: PromptReader, screen: Screen): Promise<string | undefined> {
  for (let wasInterrupted = false; ;) {
    const line = await reader.read();
    if (line.type === 'text' && line.text.trim() !== '') return line.text;
    if (line.type === 'end' || (line.type === 'interrupt' && wasInterrupted)) return undefined;
    wasInterrupted = line.type === 'interrupt';
    if (wasInterrupted) screen.line(screen.style.dim('Press Ctrl-C again to exit.'));
  }
}

function typedCommand(text: string, screen: Screen): ChatCommand | 'mistake' | undefined {
  const found = commandIn(text);
  if (found === undefined || 'command' in found) return found?.command;
  screen.warn(found.mistake);
  return 'mistake';
}

type Turn = (signal: AbortSignal) => Promise<number>;

function sayTurn({ session }: OpenChat, text: string): Turn {
  return (signal) => session.say(text, signal);
}

/** Runs a command at once, or returns its turn. Returns undefined if the command starts no turn. */
function commandTurn(command: ChatCommand | 'mistake', chat: OpenChat, screen: Screen): Turn | undefined {
  switch (command) {
    case 'help':
      screen.line(commandList());
      return undefined;
    case 'resume':
      return async (signal) => {
        const scripts = await waitingScripts(chat);
        if (scripts.length > 0) return askAndResume(chat, scripts, signal);
        screen.line('No script of this conversation waits for you.');
        return EXIT.completed;
      };
    default:
      if (command === 'new') screen.line(screen.style.dim('A new conversation.'));
      return undefined;
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
  screen.line(dim(`${state} /help lists commands, Ctrl-C stops the current turn, Ctrl-D exits.`));
}

function farewell({ thread }: OpenChat, screen: Screen): void {
  screen.toLineStart();
  if (thread.isKept) screen.line(screen.style.dim(`To continue: ${ownCommand()} --thread ${thread.id}`));
}
