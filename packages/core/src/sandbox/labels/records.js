import { join } from './labels.js';

export const records = new WeakMap(),
  homes = new WeakMap(),
  rewritten = new WeakSet(),
  promises = new WeakMap(),
  generators = new WeakMap(),
  iterators = new WeakMap(),
  thrownObjects = new WeakMap(),
  thrownPrimitives = new Map(),
  boundFunctions = new WeakMap(),
  resolvers = new WeakMap(),
  proxies = new WeakMap(),
  models = new Map(),
  pureFunctions = new Set(),
  identityOnly = new Set(),
  templateSites = new Map();
export const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';
export const recordOf = (o) => {
  let m = records.get(o);
  if (!m) records.set(o, (m = { a: 0, k: 0, p: new Map(), m: null, mk: null }));
  return m;
};
export const keyOf = (k) => (typeof k === 'string' && k.length < 11 && String(+k) === k ? +k : k);
export const has = Object.prototype.hasOwnProperty,
  hasOwn = (o, k) => has.call(o, k);
export const setLabel = (o, k, l) => {
  const m = records.get(o);
  if (m) m.p.set(keyOf(k), l || 0);
  else if (l) recordOf(o).p.set(keyOf(k), l);
};
export const smear = (o, l) => {
  if (l && isObject(o)) {
    recordOf(o).a = join(recordOf(o).a, l);
    if (ArrayBuffer.isView(o)) smear(o.buffer, l);
  }
};
export const shape = (o, l) => {
  if (l) recordOf(o).k = join(recordOf(o).k, l);
};
export const elementLabel = (o, k, l) => {
  const m = records.get(o);
  return m ? join(join(l, m.a), m.p.get(k)) : l;
};
export const shapeLabel = (o) => {
  const m = records.get(o);
  return m ? join(m.a, m.k) : 0;
};
export const contentLabels = (o) => {
  const m = records.get(o);
  if (!m) return 0;
  let l = join(m.a, m.k);
  for (const x of m.p.values()) l = join(l, x);
  if (m.m) for (const x of m.m.values()) l = join(l, x);
  if (m.mk) for (const x of m.mk.values()) l = join(l, x);
  return l;
};
/** The labels of everything that native code can read from a value without running the script's functions. */
export function deepLabel(v, seen) {
  if (!isObject(v)) return 0;
  seen ??= new Set();
  if (seen.has(v)) return 0;
  seen.add(v);
  const target = proxies.get(v);
  if (target) return deepLabel(target, seen);
  let l = contentLabels(v);
  if (typeof v === 'function' && !records.has(v)) return l;
  if (ArrayBuffer.isView(v)) return join(l, contentLabels(v.buffer));
  if (generators.has(v)) return join(l, generatorLabel(generators.get(v)));
  if (iterators.has(v)) {
    const it = iterators.get(v);
    return it.src ? join(l, join(it.l, deepLabel(it.src, seen))) : join(l, it.l);
  }
  if (promises.has(v)) return l;
  for (const k of Reflect.ownKeys(v)) {
    const d = Reflect.getOwnPropertyDescriptor(v, k);
    if (d && 'value' in d && isObject(d.value)) l = join(l, deepLabel(d.value, seen));
  }
  if (v instanceof Map)
    Map.prototype.forEach.call(v, (x, k) => {
      l = join(l, join(deepLabel(x, seen), deepLabel(k, seen)));
    });
  else if (v instanceof Set)
    Set.prototype.forEach.call(v, (x) => {
      l = join(l, deepLabel(x, seen));
    });
  return l;
}
export const generatorLabel = (f, seen = new Set()) => {
  if (seen.has(f)) return 0;
  seen.add(f);
  let l = f.out;
  for (const g of f.links) l = join(l, generatorLabel(g, seen));
  return l;
};

/** The answer of a model that does not know the arguments. */
export const NO_MODEL = { isModel: false };
