import { randomBytes } from 'node:crypto';
import type { Outcome, RunScriptOptions } from '@toolscript/core';

/** The number of sessions whose variables an owner can use, and of scripts whose session is known. */
const MAX_SESSIONS = 50;

/** The programs of one owner's scripts, by the names that a client chooses. They end with the gateway. */
export class ScriptSessions {
  /** Other gateways of the owner have sessions with the same names. */
  readonly #gateway = randomBytes(12).toString('hex');
  /** The heap of the last script of each session. */
  readonly #heaps = new Map<string, string>();
  /** The sessions of scripts, by the ids of the scripts. */
  readonly #sessions = new Map<string, string>();

  /** The options of a script. Without a session, the script shares nothing. */
  options(session: string | undefined): Pick<RunScriptOptions, 'heap' | 'threadId' | 'program'> {
    if (session === undefined) return { program: 'none' };
    return { threadId: `mcp_${this.#gateway}_${session}`, heap: this.#heaps.get(session) };
  }

  /** Notes to which session a script belongs. */
  begin(session: string | undefined, { scriptId }: Outcome): void {
    if (session !== undefined) put(this.#sessions, scriptId, session);
  }

  /** Notes the variables that a script has left to its session. */
  note({ scriptId, heap, error }: Outcome): void {
    const session = this.#sessions.get(scriptId);
    if (session === undefined) return;
    if (heap !== undefined) put(this.#heaps, session, heap);
    if (error?.code === 'HeapNotFoundError') this.#heaps.delete(session);
  }
}

/** Adds an entry as the newest one, and drops the oldest one of too many. */
function put(map: Map<string, string>, key: string, value: string): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_SESSIONS) map.delete(oldest!);
}
