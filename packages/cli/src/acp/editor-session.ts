import type { AgentContext, PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk';
import { RequestError } from '@agentclientprotocol/sdk';
import type { ApprovalRequest } from '@toolscript/core/protocol';
import type { UserAnswer } from '../approvals/asker.js';
import { openChat, type ChatFlags, type OpenChat } from '../chat/open-chat.js';
import { waitingScripts } from '../chat/waiting.js';
import type { Engines } from '../harness/engines.js';
import { inspectStoredScript } from '../state/inspect.js';
import { ownCommand } from '../terminal/own-command.js';
import type { Screen } from '../terminal/screen.js';
import type { ThreadDatabase } from '../threads/thread-database.js';
import { permissionAnswer, permissionRequest } from './permission-request.js';
import { promptContent } from './prompt-content.js';
import { SessionView } from './session-view.js';
import { TurnCancellation } from './turn-cancellation.js';

export interface SessionParts {
  readonly client: AgentContext;
  readonly engines: Engines;
  readonly screen: Screen;
  readonly database: ThreadDatabase;
}

type PromptBlocks = Parameters<typeof promptContent>[0];

/** The command that an editor offers, for a conversation whose script waits for its user. */
const RESUME = '/resume';

/** One conversation in an editor. It is a thread of the user, with the same approvals, rules and undo as in a terminal. */
export class EditorSession {
  readonly #parts: SessionParts;
  #chat!: OpenChat;
  #view!: SessionView;
  /** The running prompt. */
  #turn: TurnCancellation | undefined;

  private constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Opens a new conversation about a folder, or the stored one that `flags` names. Throws UsageErrors. */
  static async open(folder: string, flags: ChatFlags, parts: SessionParts): Promise<EditorSession> {
    const session = new EditorSession(parts);
    session.#view = new SessionView(folder, (update) => session.#send(update));
    session.#chat = await openChat({
      ...parts,
      flags: { ...flags, cwd: folder },
      stdinIsTaken: true,
      interrupt: () => {},
      view: session.#view,
      askElsewhere: (request) => session.#ask(request),
    });
    return session;
  }

  get id(): string {
    return this.#chat.thread.id;
  }

  /** Shows the stored conversation, and the command for a script that waits. */
  showHistory(): void {
    const { thread } = this.#chat;
    this.#view.replay(thread.history);
    if (thread.waitingScript === undefined) return;
    this.#say(`A script waits for your decision. Send ${RESUME} to decide.`);
  }

  showCommands(): void {
    const description = 'decide the pending approvals of this conversation, and resume it';
    this.#send({
      sessionUpdate: 'available_commands_update',
      availableCommands: [{ name: RESUME.slice(1), description }],
    });
  }

  async prompt(blocks: PromptBlocks): Promise<PromptResponse> {
    if (this.#turn !== undefined)
      throw RequestError.invalidRequest(undefined, 'This session still answers a prompt. Wait, or cancel it.');
    const turn = new TurnCancellation();
    this.#turn = turn;
    try {
      const { text, images } = await promptContent(blocks);
      if (text.trim() === RESUME) await this.#resume(turn.signal);
      else await this.#chat.session.say(text, turn.signal, images.length === 0 ? {} : { images: [...images] });
      return this.#response(turn.isRequested);
    } finally {
      this.#turn = undefined;
    }
  }

  /** Cancels the running prompt. The editor withdraws its questions. */
  cancel(): void {
    this.#turn?.request();
  }

  async close(): Promise<void> {
    this.#turn?.abort();
    await this.#chat.close();
  }

  async #resume(signal: AbortSignal): Promise<void> {
    const { workbench, session } = this.#chat;
    const scripts = await waitingScripts(this.#chat);
    if (scripts.length === 0) this.#say('No script of this conversation waits for you.');
    for (const scriptId of scripts) {
      const { pendingApprovals } = await inspectStoredScript(workbench.harness, scriptId);
      const answers = await Promise.all(
        pendingApprovals.map(async (request) => [request.approvalId, await this.#ask(request)] as const),
      );
      const decided = answers.flatMap(([id, answer]) => (answer === 'suspend' ? [] : [[id, answer] as const]));
      if (signal.aborted || decided.length === 0) return;
      await session.resume(
        { scriptId, decisions: Object.fromEntries(decided), isInterrupted: false, force: false },
        signal,
      );
    }
  }

  #response(isCancelled: boolean): PromptResponse {
    const { result } = this.#chat.session;
    if (isCancelled || result?.status === 'cancelled') return { stopReason: 'cancelled' };
    if (result?.status === 'failed')
      throw RequestError.internalError(undefined, result.error?.message ?? 'The run failed.');
    if (result?.status === 'incomplete') return { stopReason: 'max_turn_requests' };
    const { waitingScript } = this.#chat.thread;
    if (result?.status === 'suspended' && waitingScript !== undefined)
      this.#say(
        `A script waits for your decision: send ${RESUME}, or run \`${ownCommand()} resume ${waitingScript}\`.`,
      );
    return { stopReason: 'end_turn' };
  }

  async #ask(request: ApprovalRequest): Promise<UserAnswer> {
    const { settings, workbench } = this.#chat;
    const suggestions = workbench.rules.suggest(request);
    const question = permissionRequest(request, { sessionId: this.id, folder: settings.cwd, suggestions });
    const ask = async () => {
      const response = await this.#parts.client.request('session/request_permission', question);
      return permissionAnswer(response, suggestions, workbench.rules);
    };
    return this.#turn?.question(ask) ?? ask();
  }

  #say(text: string): void {
    this.#send({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  #send(update: SessionUpdate): void {
    // After the editor has closed the connection, nobody reads the updates.
    this.#parts.client.notify('session/update', { sessionId: this.id, update }).catch(() => {});
  }
}
