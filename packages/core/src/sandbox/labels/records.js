import { join, table } from './labels.js';

export const records = table(new WeakMap()),
  homes = table(new WeakMap()),
  rewritten = table(new WeakSet()),
  promises = table(new WeakMap()),
  generators = table(new WeakMap()),
  iterators = table(new WeakMap()),
  thrownObjects = table(new WeakMap()),
  thrownPrimitives = table(new Map()),
  boundFunctions = table(new WeakMap()),
  resolvers = table(new WeakMap()),
  proxies = table(new WeakMap()),
  /** Frozen objects of the language, such as `Math`: nothing of the script is in them. */
  fixed = table(new WeakSet()),
  models = table(new Map()),
  pureFunctions = new Set(),
  identityOnly = new Set(),
  templateSites = new Map();
export const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';
export const recordOf = (o) => {
  let m = records.get(o);
  if (!m) records.set(o, (m = { a: 0, k: 0, p: { __proto__: null }, m: null, mk: null }));
  return m;
};
export const has = Object.prototype.hasOwnProperty,
  { hasOwn } = Object,
  { isView } = ArrayBuffer,
  { ownKeys } = Reflect;
export const setLabel = (o, k, l) => {
  const m = records.get(o);
  if (m) m.p[k] = l || 0;
  else if (l) recordOf(o).p[k] = l;
};
export const smear = (o, l) => {
  if (l && isObject(o)) {
    recordOf(o).a = join(recordOf(o).a, l);
    if (isView(o)) smear(o.buffer, l);
  }
};
export const shape = (o, l) => {
  if (l) recordOf(o).k = join(recordOf(o).k, l);
};
export const elementLabel = (o, k, l) => {
  const m = records.get(o);
  return m ? join(join(l, m.a), m.p[k]) : l;
};
export const shapeLabel = (o) => {
  const m = records.get(o);
  return m ? join(m.a, m.k) : 0;
};
export const contentLabels = (o) => {
  const m = records.get(o);
  if (!m) return 0;
  let l = join(m.a, m.k);
  for (const k of ownKeys(m.p)) l = join(l, m.p[k]);
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
  if (isView(v)) return join(l, contentLabels(v.buffer));
  if (generators.has(v)) return join(l, generatorLabel(generators.get(v)));
  if (iterators.has(v)) {
    const it = iterators.get(v);
    return it.src ? join(l, join(it.l, deepLabel(it.src, seen))) : join(l, it.l);
  }
  if (promises.has(v)) return l;
  for (const k of ownKeys(v)) {
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
