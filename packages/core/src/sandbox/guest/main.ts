// The guest's side of the bridge. This code runs once, when the image is built. Every script starts from a bit-by-bit
// copy of the resulting memory.
//
// Model: a call to a tool is written to the outbox and its promise waits until the host settles it (`bridge/calls.ts`).
// The script's end is one more entry of the outbox. A script can reach nothing in these modules: every function the
// bridge uses was captured before the first script, and its tables are closures. The host still trusts nothing in the
// outbox: it counts the calls itself, finds their positions itself, and ends the script if an entry breaks a rule
// (`quickjs/outbox.ts`).
//
// Reading a script's value may run the script's own code (a getter, toJSON, a proxy's trap), which may use the bridge
// itself. So the bridge checks each budget once more after it has read the value.
//
// Any line may fail because the heap or the stack is full. No failure may leave a half-done change that a later line
// relies on: a change that a failure could interrupt is committed last, without allocating.
import { promises, settle } from './bridge/calls.js';
import { beginCell, finishCell, startCell } from './bridge/cells.js';
import { catalog } from './bridge/catalog.js';
import { dateNow } from './bridge/captured.js';
import { performance, startClock } from './bridge/clock.js';
import { readContext } from './bridge/context.js';
import { errorClasses } from './bridge/errors.js';
import { show, showJson } from './bridge/inspect.js';
import { connectHost, type GuestHost } from './bridge/host.js';
import { refuseClasses } from './bridge/json.js';
import { limits } from './bridge/limits.js';
import { flush } from './bridge/outbox.js';
import { text, writeLog } from './bridge/output.js';
import { nextWord, random, seedRandom } from './bridge/random.js';
import { describeThrown, start } from './bridge/script-end.js';
import { framesBelow, installStacks } from './bridge/stacks.js';
import { clearInterval, clearTimeout, queueMicrotask, setInterval, setTimeout, sleep } from './bridge/timers.js';
import { allowTasks, makeTools } from './bridge/tools-object.js';
import { makeAbortClasses } from './standard-library/abort.js';
import { makeCrypto } from './standard-library/crypto.js';
import { makeConsole } from './console/console.js';
import { lockDown } from './lockdown.js';
import { defineProperty, freeze, Math, parse } from './primordials.js';
import { defineMembers, nameMembers } from './standard-library/define.js';
import { parseJson } from './standard-library/parse-json.js';
import installStandardLibrary from './standard-library/install.js';

/** Creates the realm that scripts run in, and returns the functions that the host calls. */
export default function makeGuest(host: GuestHost): object {
  connectHost(host);
  installStandardLibrary();
  installStacks();
  defineMembers(
    globalThis,
    makeAbortClasses((callback, ms) => setTimeout(callback, ms)),
  );
  refuseClasses([globalThis, (globalThis as unknown as { Intl: object }).Intl]);
  defineMembers(Math, nameMembers({ random }));
  defineMembers(globalThis.JSON, nameMembers({ parse: parseJson }));
  defineMembers(globalThis, {
    ...errorClasses,
    console: makeConsole({ write: writeLog, show, showJson, nowMs: dateNow, framesBelow }),
    performance,
    crypto: makeCrypto(nextWord),
    catalog,
    ...nameMembers({ text, sleep, setTimeout, setInterval, clearTimeout, clearInterval, queueMicrotask }),
    emit: text,
  });
  lockDown();
  publish();
  return { begin, start, settle, flush, describeThrown, promises, startCell, finishCell };
}

/** Defines the two globals whose content is created on demand. */
function publish(): void {
  const fixed = { configurable: false, enumerable: false };
  defineProperty(globalThis, 'tools', { value: makeTools(), writable: false, ...fixed });
  defineProperty(globalThis, 'context', { get: freeze(() => readContext()), ...fixed });
}

/**
 * Limits, seed, the run's id if the script can start detached tasks, and the number of the script if it is a cell of a
 * program.
 */
type Init = [...numbers: FixedNumbers, runId: string | 0, cell?: number | undefined];
type FixedNumbers = [...limits: EightNumbers, ...seed: [number, number, number, number]];
type EightNumbers = [number, number, number, number, number, number, number, number];

/** Reads what every script needs. The guest asks the host for everything else when a script first needs it. */
function begin(initText: string): void {
  const init = parse(initText) as Init;
  limits.calls = init[0];
  limits.builtinCalls = init[1];
  limits.input = init[2];
  limits.result = init[3];
  limits.logs = init[4];
  limits.logBytes = init[5];
  limits.output = init[6];
  limits.progress = init[7];
  seedRandom(init[8], init[9], init[10], init[11]);
  startClock();
  if (init[12] !== 0) allowTasks('task_' + init[12] + '_');
  if (init[13] !== undefined) beginCell(init[13]);
}
