import { ALL_INTRINSICS, Engine, type EngineValue } from './driver.js';
import type { PromiseLayout } from './image.js';
import type { WasmModule } from './webassembly.js';

/**
 * Finds promises that no code can still observe. A promise that only a `WeakRef` can still reach counts as
 * unobservable.
 *
 * Reads from the engine's memory whether any code still waits for a pending promise. If a call has lost its race and
 * nothing in the script can still observe it, the host can abort the call at once.
 *
 * The engine (quickjs-ng 0.17) stores a promise's reactions as a linked list; each holds the two functions that settle
 * the derived promise. If such a function belongs to a settled promise, the reaction does nothing. Offsets are in
 * 32-bit words. The build verifies them on real promises.
 */

export interface PromiseProbe {
  /** The number of references to the promise, without the reference that this probe holds. */
  references: number;
  reactions: number;
  /** The number of handlers, for fulfilment and for rejection, that can still have an effect. */
  live: number;
}

/** The number of the bridge's own references: its table, and the two functions that settle the promise. */
const BRIDGE_REFERENCES = 3;

const COUNT_BEFORE_OBJECT = -1;
const OBJECT_PAYLOAD = 6;
const OBJECT_CLASS = 2;
const FULFIL_LIST = 1;
const REJECT_LIST = 3;
const REACTION_DERIVED = 2;
const REACTION_RESOLVE = 6;
const RESOLVER_SHARED = 2;
const SHARED_DONE = 1;
const MAX_REACTIONS = 1000;
/** The number of references to an otherwise unreferenced derived promise: the two functions that settle it. */
const RESOLVER_REFERENCES = 2;

export function isUnobservable(probe: PromiseProbe): boolean {
  return probe.reactions > 0 && probe.live === 0 && probe.references <= BRIDGE_REFERENCES;
}

/** Inspects the promise at an index of an array value. */
export function probePromise(
  engine: Engine,
  promises: EngineValue,
  index: number,
  layout: PromiseLayout,
): PromiseProbe | undefined {
  const { raw } = engine;
  const value = raw.qjs_get_prop_uint32(promises, index);
  const words = engine.words();
  const object = raw.qjs_get_value_ptr(value) >> 2;
  const probe = object === 0 ? undefined : readProbe(words, object, layout);
  raw.qjs_free_value(value);
  return probe;
}

function readProbe(words: Uint32Array, object: number, layout: PromiseLayout): PromiseProbe {
  const references = words[object + COUNT_BEFORE_OBJECT]! - 1;
  const promise = words[object + OBJECT_PAYLOAD]! >> 2;
  let reactions = 0;
  let live = 0;
  for (const list of [FULFIL_LIST, REJECT_LIST]) {
    const head = promise + list;
    for (let node = words[head]! >> 2; node !== head && reactions < MAX_REACTIONS; node = words[node]! >> 2) {
      if (list === FULFIL_LIST) reactions++;
      if (isLive(words, node, layout)) live++;
    }
  }
  return { references, reactions, live };
}

/** True for a reaction whose handler still has an effect, or whose derived promise is referenced or awaited. */
function isLive(words: Uint32Array, node: number, layout: PromiseLayout): boolean {
  return (
    !leadsNowhere(words, words[node + REACTION_RESOLVE]! >> 2, layout) ||
    isObserved(words, words[node + REACTION_DERIVED]! >> 2, layout)
  );
}

/** Whether anything references or awaits the promise that `then` returned. */
function isObserved(words: Uint32Array, resolver: number, layout: PromiseLayout): boolean {
  if (resolver === 0) return false;
  if (words[resolver + OBJECT_CLASS]! >>> 16 !== layout.resolveClass) return true;
  const derived = words[words[resolver + OBJECT_PAYLOAD]! >> 2]! >> 2;
  const promise = words[derived + OBJECT_PAYLOAD]! >> 2;
  const waits = [FULFIL_LIST, REJECT_LIST].some((list) => words[promise + list]! >> 2 !== promise + list);
  return waits || words[derived + COUNT_BEFORE_OBJECT]! > RESOLVER_REFERENCES;
}

function leadsNowhere(words: Uint32Array, resolver: number, layout: PromiseLayout): boolean {
  const kind = words[resolver + OBJECT_CLASS]! >>> 16;
  if (kind !== layout.resolveClass && kind !== layout.rejectClass) return false;
  const shared = words[(words[resolver + OBJECT_PAYLOAD]! >> 2) + RESOLVER_SHARED]! >> 2;
  return (words[shared + SHARED_DONE]! & 0xff) !== 0;
}

const CALIBRATION = `(() => {
  const promises = [], resolve = [], reject = [], kept = [];
  const make = () => { const i = promises.length; promises[i] = new Promise((r, j) => { resolve[i] = r; reject[i] = j; }); return promises[i]; };
  make();
  Promise.race([make(), Promise.resolve(1)]);
  make().then(() => {});
  kept.push(make());
  Promise.race([make(), new Promise(() => {})]);
  { let done; const first = new Promise((r) => (done = r)); kept.push(make().then(done)); done(); }
  return { promises, resolve, reject, kept };
})()`;

const EXPECTED: readonly PromiseProbe[] = [
  { references: 3, reactions: 0, live: 0 },
  { references: 3, reactions: 1, live: 0 },
  { references: 3, reactions: 1, live: 2 },
  { references: 4, reactions: 0, live: 0 },
  { references: 3, reactions: 1, live: 2 },
  { references: 3, reactions: 1, live: 2 },
];

/** Finds the class ids and verifies every offset on promises whose state is known. Throws if an offset is wrong. */
export function calibratePromiseLayout(module: WasmModule, compiler: Engine): PromiseLayout {
  const engine = new Engine(module, { clockMs: () => 0, interrupt: () => {}, rejection: () => {} });
  engine.initialize({ intrinsics: ALL_INTRINSICS, maxStackBytes: 262_144 });
  const root = engine.evaluate(compiler.compile(CALIBRATION, 'calibration', { keepLines: false }));
  engine.runJobs(() => {});
  const objectClass = (list: string) => {
    const value = engine.raw.qjs_get_prop_uint32(engine.property(root, list), 0);
    return engine.words()[(engine.raw.qjs_get_value_ptr(value) >> 2) + OBJECT_CLASS]! >>> 16;
  };
  const layout = { resolveClass: objectClass('resolve'), rejectClass: objectClass('reject') };
  const promises = engine.property(root, 'promises');
  for (const [index, expected] of EXPECTED.entries()) {
    const probe = probePromise(engine, promises, index, layout);
    if (JSON.stringify(probe) !== JSON.stringify(expected)) {
      throw new Error(
        `promise ${index} reads as ${JSON.stringify(probe)}, not ${JSON.stringify(expected)}: the engine's layout has changed; adapt reactions.ts to this engine`,
      );
    }
  }
  return layout;
}
