import type { Outcome, RunScriptOptions } from '@toolscript/core';
import { PASSING_THREADS } from '@toolscript/core/internal';
import { randomBytes } from 'node:crypto';

/** The number of sessions whose variables an owner can use, and of scripts whose session is known. */
const MAX_SESSIONS = 50;

/** The scripts of one program. A session that begins again under the name of an ended one is another program. */
interface ScriptSession {
  readonly threadId: string;
  /** The heap of the last script. */
  heap?: string | undefined;
  hasEnded: boolean;
}

/** The programs of one owner's scripts, by the names that a client chooses. They end with the gateway. */
export class ScriptSessions {
  readonly #sessions = new Map<string, ScriptSession>();
  /** The sessions of scripts, by the ids of the scripts. */
  readonly #scripts = new Map<string, ScriptSession>();
  readonly #endProgram: (threadId: string) => Promise<void>;

  /** `endProgram` deletes the variables of a program, unless a script of it may still need them. */
  constructor(endProgram: (threadId: string) => Promise<void>) {
    this.#endProgram = endProgram;
  }

  /** Runs a script in a session. Without a name, the script shares nothing. */
  async run(
    name: string | undefined,
    run: (options: Pick<RunScriptOptions, 'heap' | 'threadId' | 'program'>) => Promise<Outcome>,
  ): Promise<Outcome> {
    if (name === undefined) return run({ program: 'none' });
    const session = this.#sessions.get(name) ?? { threadId: newThread(), hasEnded: false };
    const oldest = put(this.#sessions, name, session);
    if (oldest !== undefined) void this.#end(oldest);
    const outcome = await run({ threadId: session.threadId, heap: session.heap });
    put(this.#scripts, outcome.scriptId, session);
    return outcome;
  }

  /** Notes the variables that a script has left to its session. */
  note({ scriptId, heap, error }: Outcome): void {
    const session = this.#scripts.get(scriptId);
    if (session === undefined) return;
    if (heap !== undefined) session.heap = heap;
    if (error?.code === 'HeapNotFoundError') session.heap = undefined;
    if (session.hasEnded) void this.#end(session);
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map((session) => this.#end(session)));
  }

  /** `pruneScripts` deletes what is left, for example because the store failed. */
  async #end(session: ScriptSession): Promise<void> {
    session.hasEnded = true;
    await this.#endProgram(session.threadId).catch(() => {});
  }
}

function newThread(): string {
  return `${PASSING_THREADS}${randomBytes(16).toString('hex')}`;
}

/** Adds an entry as the newest one. Drops the oldest one of too many, and returns it. */
function put<Value>(map: Map<string, Value>, key: string, value: Value): Value | undefined {
  map.delete(key);
  map.set(key, value);
  const [[oldest, dropped]] = map as unknown as [[string, Value]];
  if (map.size <= MAX_SESSIONS) return undefined;
  map.delete(oldest);
  return dropped;
}
