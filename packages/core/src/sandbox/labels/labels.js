/** The state of the runtime. A label is the number of a set of sources; 0 is the empty set. */
export const now = {
  /** How many getters, setters and proxies the script has defined: with none, reading a property runs no code. */
  accessors: 0,
  proxyCount: 0,
  /** Every source so far. */
  top: 0,
  /** How many functions of the script have been entered. */
  entries: 0,
  /** The labels of the arguments of the call that is about to enter a function. */
  pending: null,
  /** The label of what a function receives that native code calls; -1: nothing is known. */
  ambient: -1,
  /** 1: native code runs, and reads all that the script's functions return to it. */
  watch: 0,
  lastFrame: null,
  /** The label of the clock: the script has slept for a time that these sources chose. */
  clock: 0,
  /** The label of the branch in which a built-in function is called; 0 unless branches count. */
  pc: 0,
  /** True: there are more labels than the runtime can tell apart, so it reports nothing any longer. */
  isBroken: false,
};
const TABLE_METHODS = ['get', 'set', 'has', 'add'];
/** A collection with methods of its own: those of the prototypes are accessors in a sandbox, and take twice the time. */
export const table = (collection) => {
  for (const k of TABLE_METHODS) if (k in collection) Object.defineProperty(collection, k, { value: collection[k] });
  return collection;
};
export const sets = [[]],
  ids = table(new Map([['', 0]])),
  joins = table(new Map());
export const MAX_SETS = 1048576;
export const idOf = (list) => {
  const key = list.join(',');
  let id = ids.get(key);
  if (id === undefined) {
    if (sets.length === MAX_SETS) {
      now.isBroken = true;
      return 0;
    }
    id = sets.length;
    sets.push(list);
    ids.set(key, id);
  }
  return id;
};
export const join = (a, b) => {
  if (a === b || !b) return a || 0;
  if (!a) return b;
  const key = a < b ? a * 1048576 + b : b * 1048576 + a;
  let r = joins.get(key);
  if (r === undefined) {
    r = idOf([...new Set([...sets[a], ...sets[b]])].sort((x, y) => x - y));
    joins.set(key, r);
  }
  return r;
};
/*
 * A source is in a label in one of these ways: its content is in the value; it has selected the value among others; it has
 * selected the branch in which the value was made. The two lowest bits of the numbers in a set are the way.
 */
const WAY_BITS = 2,
  SELECTED = 1,
  BRANCH = 2;
const sources = [];
export const source = (d) => {
  sources.push(d);
  const id = idOf([(sources.length - 1) << WAY_BITS]);
  now.top = join(now.top, id);
  return id;
};
const inWay = (way) => {
  const known = table(new Map());
  return (id) => {
    if (!id) return 0;
    let r = known.get(id);
    if (r === undefined) {
      const moved = sets[id].map((x) => ((x & 3) < way ? (x & ~3) | way : x));
      known.set(id, (r = idOf([...new Set(moved)].sort((x, y) => x - y))));
    }
    return r;
  };
};
/** The label of a value that a value with this label has selected. */
export const selectedBy = inWay(SELECTED);
/** The label of what is done in a branch that a value with this label has selected. */
export const branchOf = inWay(BRANCH);
/** The label of a value of unknown sources: every source so far. */
export const everything = () => now.top;
/** The sources of a label: the position of the call, the part of its result, and the way. */
export const sourcesOf = (id) =>
  sets[id || 0].map((x) => {
    const { call, part } = sources[x >> WAY_BITS];
    return [call, part, x & 3];
  });
