import type { SandboxCall } from '../protocol/index.js';

/**
 * Maximum calls, and characters of their arguments, that start before other work gets a turn of the event loop. The
 * time limit is for expensive checks; it is long, so that the order of events rarely depends on the load of the
 * machine.
 */
const TURN_CALLS = 64;
const TURN_UNITS = 65_536;
const TURN_MS = 25;

interface CallStarter {
  start(call: SandboxCall): void;
  /** Called before each turn except the first. */
  continues(): boolean;
  done(): void;
}

/** Starts the calls of one segment; many calls start over several turns of the event loop. */
export function startInTurns(calls: readonly SandboxCall[], starter: CallStarter, from = 0): void {
  let units = 0;
  const turnEnds = calls.length < 2 ? 0 : performance.now() + TURN_MS;
  for (let index = from; index < calls.length; index++) {
    const isOver = index - from >= TURN_CALLS || units > TURN_UNITS;
    // defence: calls-start-in-turns
    if (isOver || (index > from && performance.now() > turnEnds)) {
      setImmediate(() => {
        if (starter.continues()) startInTurns(calls, starter, index);
      });
      return;
    }
    units += calls[index]!.argsJson.length;
    starter.start(calls[index]!);
  }
  starter.done();
}
