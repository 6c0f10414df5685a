import { isAbsolute } from 'node:path';
import { agent, RequestError, type AgentApp, type AgentContext } from '@agentclientprotocol/sdk';
import type { ChatFlags } from '../chat/open-chat.js';
import { visibleTitle } from '../terminal/untrusted.js';
import { isUsageError } from '../usage-error.js';
import { EditorSession, type SessionParts } from './editor-session.js';

/** The version of the Agent Client Protocol. */
const PROTOCOL_VERSION = 1;

export interface EditorAgentOptions extends Omit<SessionParts, 'client'> {
  /** The options of every session, without the folder and the conversation. */
  readonly flags: ChatFlags;
  readonly version: string;
}

/** The agent for editors: the conversations of one connection. */
export class EditorAgent {
  readonly app: AgentApp;
  readonly #options: EditorAgentOptions;
  readonly #sessions = new Map<string, EditorSession>();

  constructor(options: EditorAgentOptions) {
    this.#options = options;
    this.app = agent({ name: 'toolscript' })
      .onRequest('initialize', () => this.#initialize())
      .onRequest('session/new', async ({ params, client }) => {
        const session = await this.#open(params.cwd, {}, client);
        setImmediate(() => session.showCommands());
        return { sessionId: session.id };
      })
      .onRequest('session/load', async ({ params, client }) => {
        // A session without a prompt is not stored: this error lets editors begin a new one.
        if (!(await this.#options.database.has(params.sessionId)))
          throw RequestError.resourceNotFound(params.sessionId);
        const session = await this.#open(params.cwd, { thread: params.sessionId }, client);
        session.showHistory();
        setImmediate(() => session.showCommands());
        return {};
      })
      .onRequest('session/list', ({ params }) => this.#list(params.cwd ?? undefined))
      .onRequest('session/prompt', ({ params }) =>
        asRequestErrors(() => this.#find(params.sessionId).prompt(params.prompt)),
      )
      .onNotification('session/cancel', ({ params }) => this.#sessions.get(params.sessionId)?.cancel());
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.close();
  }

  #initialize() {
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'toolscript', title: 'Toolscript', version: this.#options.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        sessionCapabilities: { list: {} },
      },
      authMethods: [],
    };
  }

  async #open(folder: string, more: ChatFlags, client: AgentContext): Promise<EditorSession> {
    if (!isAbsolute(folder)) throw RequestError.invalidParams(undefined, 'cwd must be an absolute path.');
    const { flags, ...parts } = this.#options;
    const session = await asRequestErrors(() =>
      EditorSession.open(folder, { ...flags, ...more }, { ...parts, client }),
    );
    await this.#sessions.get(session.id)?.close();
    this.#sessions.set(session.id, session);
    return session;
  }

  #find(sessionId: string): EditorSession {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw RequestError.resourceNotFound(sessionId);
    return session;
  }

  async #list(workspace: string | undefined) {
    const threads = await this.#options.database.list(workspace === undefined ? {} : { workspace });
    return {
      sessions: threads.map(({ threadId, title, workspace: cwd, updatedAt }) => ({
        sessionId: threadId,
        cwd,
        title: visibleTitle(title),
        updatedAt: new Date(updatedAt).toISOString(),
      })),
    };
  }
}

/** Reports the mistakes of the user to the editor. */
async function asRequestErrors<Value>(act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    throw isUsageError(error) ? RequestError.invalidParams(undefined, error.message) : error;
  }
}
