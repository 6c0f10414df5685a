import { scriptFailure, type Outcome, type RunningOutcome } from '../protocol/index.js';
import type { FollowedSession, LiveScript, RunContext } from '../protocol/run-context.js';
import type { ScriptEnd } from '../answer/index.js';
import { failedOutcome } from '../calls/session/index.js';
import { newId } from '../text/crypto.js';

/** Maximum number of ended scripts of one principal whose outcomes stay in memory. */
const MAX_ENDED = 20;
/** The time for which the outcome of an ended script stays in memory, in ms. */
const ENDED_LIFE_MS = 600_000;

/** A script that a caller asks for. */
export interface AskedScript {
  readonly scriptId: string;
  readonly principal: string | undefined;
}

/** How long a caller waits for the end of a script. */
export interface WaitTime {
  /** In ms. Undefined: until the script ends or is suspended. */
  readonly forMs: number | undefined;
  /** Ends the wait, and not the script. */
  readonly signal: AbortSignal | undefined;
}

/** A run of a script that may be followed. */
interface FollowedRun extends Pick<RunContext, 'principal' | 'signal'> {
  readonly threadId?: string | undefined;
  /** The id of a resumed script; undefined for a new one. */
  readonly scriptId?: string | undefined;
  /** Undefined: the caller waits for the end. */
  readonly yieldAfterMs: number | undefined;
}

/** The scripts of a harness that may outlive the wait of their callers, and the outcomes of the last ones that ended. */
export class RunningScripts {
  readonly #scripts = new Map<string, RunningScript>();

  /** Runs a script. `start` runs it with the given signal, and with `live` if the script can be followed. */
  async run(
    { scriptId, threadId, principal, signal, yieldAfterMs }: FollowedRun,
    start: (signal: AbortSignal | undefined, live: LiveScript | undefined) => Promise<ScriptEnd>,
  ): Promise<Outcome> {
    if (yieldAfterMs === undefined && (scriptId === undefined || !this.#scripts.has(scriptId)))
      return (await start(signal, undefined)).outcome;
    const asked = { scriptId: scriptId ?? newId('scr'), principal };
    // A resumed script takes the place of its suspension when its session begins: then no other resume has won.
    const script = new RunningScript({ ...asked, threadId }, signal, () => this.#scripts.set(asked.scriptId, script));
    if (scriptId === undefined) this.#scripts.set(asked.scriptId, script);
    const ended = script.run(start).finally(() => this.#moveToEnded(script));
    if (yieldAfterMs === undefined) return ended;
    // The answer rejects too.
    ended.catch(() => {});
    return script.answer({ forMs: yieldAfterMs, signal: undefined });
  }

  /** The script of a principal, if it runs or its outcome is still in memory. */
  find({ scriptId, principal }: AskedScript): RunningScript | undefined {
    this.#forgetOld();
    const script = this.#scripts.get(scriptId);
    // defence: running-scripts-belong-to-a-principal
    return script?.principal === principal ? script : undefined;
  }

  /** Whether a script of the conversation runs, or was suspended a short time ago. */
  hasOpen(threadId: string): boolean {
    const ofThread = [...this.#scripts.values()].filter((script) => script.threadId === threadId);
    return ofThread.some(({ end }) => end === undefined || end.status === 'suspended');
  }

  /** Resolves when every script has ended. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#scripts.values()].map(({ ended }) => ended));
  }

  /** The map lists ended scripts in the order of their ends. */
  #moveToEnded(script: RunningScript): void {
    const { scriptId } = script;
    if (this.#scripts.get(scriptId) !== script) return;
    this.#scripts.delete(scriptId);
    if (script.end !== undefined) this.#scripts.set(scriptId, script);
    this.#forgetOld();
  }

  #forgetOld(): void {
    const counts = new Map<string | undefined, number>();
    const oldestMs = performance.now() - ENDED_LIFE_MS;
    for (const { scriptId, principal, endedAtMs } of [...this.#scripts.values()].toReversed()) {
      if (endedAtMs === undefined) continue;
      const count = (counts.get(principal) ?? 0) + 1;
      counts.set(principal, count);
      if (count > MAX_ENDED || endedAtMs < oldestMs) this.#scripts.delete(scriptId);
    }
  }
}

/** A script that others can wait for and cancel. */
export class RunningScript implements LiveScript {
  readonly scriptId: string;
  readonly principal: string | undefined;
  readonly threadId: string | undefined;
  /** The outcome; undefined while the script runs. */
  end: Outcome | undefined;
  endedAtMs: number | undefined;
  ended: Promise<Outcome> = Promise.reject(new Error('The script has not started.'));
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #onStart: () => void;
  readonly #follow = () => this.#controller.abort(this.#signal?.reason);
  /** Resolves when the script has begun, or has ended without that. */
  readonly #begun: Promise<void>;
  #begin: () => void = () => {};
  #session: FollowedSession | undefined;
  #shown = { output: 0, logs: 0 };

  constructor(
    { scriptId, principal, threadId }: AskedScript & { readonly threadId: string | undefined },
    signal: AbortSignal | undefined,
    onStart: () => void,
  ) {
    this.scriptId = scriptId;
    this.principal = principal;
    this.threadId = threadId;
    this.#signal = signal;
    this.#onStart = onStart;
    this.#begun = new Promise((resolve) => (this.#begin = resolve));
    this.ended.catch(() => {});
    if (signal?.aborted === true) this.#follow();
    else signal?.addEventListener('abort', this.#follow, { once: true });
  }

  follow(session: FollowedSession): void {
    this.#session = session;
    this.#onStart();
    this.#begin();
  }

  run(start: (signal: AbortSignal, live: LiveScript) => Promise<ScriptEnd>): Promise<Outcome> {
    this.ended = this.#run(start);
    // A caller that has received a `running` outcome may never ask again.
    this.ended.catch(() => {});
    return this.ended;
  }

  async #run(start: (signal: AbortSignal, live: LiveScript) => Promise<ScriptEnd>): Promise<Outcome> {
    try {
      this.end = (await start(this.#controller.signal, this)).outcome;
      this.endedAtMs = performance.now();
      return this.end;
    } finally {
      this.#session = undefined;
      this.#begin();
      this.#signal?.removeEventListener('abort', this.#follow);
    }
  }

  /**
   * Waits for the end. If the wait is over first, the outcome is `running`; the store then has the script, so that other
   * processes find it.
   */
  async answer({ forMs, signal }: WaitTime): Promise<Outcome> {
    const end = this.end ?? (await within(this.ended, forMs, signal));
    if (end !== undefined) return end;
    await this.#begun;
    await this.#session?.keep();
    return this.end ?? (this.#session === undefined ? this.ended : this.#soFar(this.#session));
  }

  /** Cancels the script, and returns its end. */
  async cancel(): Promise<Outcome> {
    this.#controller.abort();
    return this.end ?? this.ended;
  }

  #soFar(session: FollowedSession): RunningOutcome {
    const outcome = session.soFar();
    const { output, logs } = this.#shown;
    this.#shown = { output: outcome.output.length, logs: outcome.logs.length };
    return { ...outcome, output: outcome.output.slice(output), logs: outcome.logs.slice(logs) };
  }
}

/** Returns the outcome, or undefined if the time is over first. */
function within(
  ended: Promise<Outcome>,
  forMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Outcome | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    };
    const giveUp = () => {
      stop();
      resolve(undefined);
    };
    const timer = forMs === undefined ? undefined : setTimeout(giveUp, forMs);
    if (signal?.aborted === true) giveUp();
    else signal?.addEventListener('abort', giveUp, { once: true });
    ended.then(resolve, reject).finally(stop);
  });
}

/** The answer for an unknown script, which does not tell whether another principal has such a script. */
export function scriptNotFound(scriptId: string): Outcome {
  const minutes = ENDED_LIFE_MS / 60_000;
  const message = `There is no script ${JSON.stringify(scriptId)}: use the id of an outcome of this principal, and ask at most ${minutes} minutes after the end, because without a store only the last ${MAX_ENDED} outcomes are kept for that time.`;
  return failedOutcome(scriptFailure('ScriptNotFoundError', message), scriptId);
}

/** Whether the script of this outcome may continue, in this process or in another one, so that the store knows more. */
export function mayContinue(outcome: Outcome): boolean {
  return outcome.status === 'suspended' || outcome.error?.code === 'StoreError';
}

/** The outcome of a script that was cancelled after this outcome. */
export function cancelledOutcome(before: Outcome): Outcome {
  const { scriptId, output, logs, diagnostics, plan, metadata } = before;
  const operations = before.operations.map((operation) =>
    operation.status === 'awaiting_approval' ? { ...operation, status: 'not_started' as const } : operation,
  );
  const error = scriptFailure('ScriptCancelledError', 'The run was cancelled.');
  return { status: 'failed', error, scriptId, output, logs, operations, diagnostics, plan, metadata };
}
