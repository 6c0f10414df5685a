import { branchOf, join, now, selectedBy } from './labels.js';
import {
  NO_MODEL,
  boundFunctions,
  contentLabels,
  deepLabel,
  elementLabel,
  isObject,
  iterators,
  models,
  promises,
  proxies,
  recordOf,
  records,
  resolvers,
  rewritten,
  setLabel,
  shape,
  shapeLabel,
  smear,
} from './records.js';
import { split } from './frames.js';
import { R } from './registers.js';
import {
  addKey,
  guard,
  invoke,
  mutating,
  noteThrown,
  references,
  resolverAsRewritten,
  setEntry,
  settled,
  trampoline,
} from './native.js';
import { iterOf } from './iterators.js';

/*
 * Models of built-in functions. A model calls the function itself, and leaves the label of its result in the register;
 * `NO_MODEL`: it does not know these arguments. What has no model gets the union of all that it can read.
 */
const model = (o, names, make) => {
  for (const k of names) if (typeof o[k] === 'function') models.set(o[k], make(k));
};
export const arrayPrototype = Array.prototype;
/** Calls a function of the script: with the values `v`, their labels `l`, and the label of `this`. */
export const run = (cb, lcb, t, lt, v, l, pc = now.pc) =>
  rewritten.has(cb) ? invoke(cb, lcb, t, lt, v, l, pc) : R.callSplit(cb, lcb, t, lt, v, l, pc);
export const ok = (th, v) => Array.isArray(th) && !proxies.has(th) && typeof v[0] === 'function';
model(
  arrayPrototype,
  ['map', 'forEach', 'filter', 'find', 'findLast', 'findIndex', 'findLastIndex', 'some', 'every', 'flatMap'],
  (k) => (f, lf, th, lth, v, l) => {
    if (!ok(th, v)) return NO_MODEL;
    const isMapped = k === 'map' || k === 'flatMap';
    const out = [];
    let P = 0;
    const kept = [];
    let hit = 0;
    const r = Reflect.apply(f, th, [
      (x, i, a) => {
        const le = elementLabel(th, i, lth),
          y = run(v[0], l[0], v[1], l[1], [x, i, a], [le, 0, lth]);
        if (R.l) P = join(P, R.l);
        if (y) {
          hit = le;
          if (k === 'filter') kept[kept.length] = le;
        }
        if (isMapped) out[i] = R.l;
        if (k === 'flatMap' && Array.isArray(y)) out[i] = join(out[i], contentLabels(y));
        return y;
      },
    ]);
    if (k === 'map') {
      out.forEach((x, i) => setLabel(r, i, x));
      shape(r, join(lth, shapeLabel(th)));
      R.l = 0;
    } else if (k === 'filter') {
      kept.forEach((x, i) => setLabel(r, i, x));
      smear(r, selectedBy(P));
      shape(r, join(lth, shapeLabel(th)));
      R.l = 0;
    } else if (k === 'flatMap') {
      smear(r, P);
      smear(r, out.reduce(join, 0));
      shape(r, join(lth, shapeLabel(th)));
      R.l = 0;
    } else if (k === 'forEach') R.l = 0;
    else if (k === 'find' || k === 'findLast')
      R.l = join(r === undefined ? 0 : hit, selectedBy(join(P, join(lth, shapeLabel(th)))));
    else R.l = join(P, join(lth, shapeLabel(th)));
    return r;
  },
);
model(arrayPrototype, ['reduce', 'reduceRight'], () => (f, lf, th, lth, v, l) => {
  if (!ok(th, v)) return NO_MODEL;
  let acc = v.length > 1 ? l[1] : -1;
  const cb = (a, x, i, o) => {
    if (acc === -1) acc = join(contentLabels(th), lth);
    const y = run(v[0], l[0], undefined, 0, [a, x, i, o], [acc, elementLabel(th, i, lth), 0, lth]);
    acc = R.l;
    return y;
  };
  const r = Reflect.apply(f, th, v.length > 1 ? [cb, v[1]] : [cb]);
  R.l = acc === -1 ? join(contentLabels(th), lth) : acc;
  return r;
});
model(arrayPrototype, ['sort', 'toSorted'], (k) => (f, lf, th, lth, v, l) => {
  if (!Array.isArray(th) || proxies.has(th)) return NO_MODEL;
  const all = contentLabels(th),
    both = join(all, lth);
  let P = 0;
  const cmp =
    typeof v[0] === 'function'
      ? (x, y) => {
          const r = run(v[0], l[0], undefined, 0, [x, y], [both, both]);
          P = join(P, R.l);
          return r;
        }
      : v[0];
  const [r] = guard(join(all, lth), () => Reflect.apply(f, th, cmp === undefined ? [] : [cmp]));
  smear(r, join(selectedBy(P), join(all, v[0] ? 0 : deepLabel(th))));
  if (k === 'toSorted') shape(r, join(lth, shapeLabel(th)));
  R.l = k === 'sort' ? lth : 0;
  return r;
});
models.set(arrayPrototype.push, (f, lf, th, lth, v, l) => {
  if (!Array.isArray(th) || proxies.has(th)) return NO_MODEL;
  const at = th.length;
  const r = Reflect.apply(f, th, v);
  l.forEach((x, i) => {
    if (x || records.has(th)) setLabel(th, at + i, x);
  });
  shape(th, lth);
  R.l = join(lth, shapeLabel(th));
  return r;
});
models.set(arrayPrototype.pop, (f, lf, th, lth, v, l) => {
  if (!Array.isArray(th) || proxies.has(th)) return NO_MODEL;
  R.l = join(elementLabel(th, th.length - 1, lth), shapeLabel(th));
  const x = R.l;
  const r = Reflect.apply(f, th, v);
  R.l = x;
  return r;
});
model(
  arrayPrototype,
  ['shift', 'unshift', 'splice', 'reverse', 'fill', 'copyWithin'],
  (k) => (f, lf, th, lth, v, l) => {
    if (!Array.isArray(th) || proxies.has(th)) return NO_MODEL;
    const all = join(contentLabels(th), references(0, lth, l));
    const r = Reflect.apply(f, th, v);
    smear(th, all);
    if (Array.isArray(r) && r !== th) smear(r, all);
    R.l = all;
    return r;
  },
);
model(arrayPrototype, ['slice'], () => (f, lf, th, lth, v, l) => {
  if (!Array.isArray(th) || proxies.has(th)) return NO_MODEL;
  const r = Reflect.apply(f, th, v);
  let s = Math.trunc(Number(v[0])) || 0;
  if (s < 0) s = Math.max(0, th.length + s);
  r.forEach((_, i) => setLabel(r, i, elementLabel(th, s + i, lth)));
  smear(r, references(0, 0, l));
  shape(r, join(lth, shapeLabel(th)));
  R.l = 0;
  return r;
});
model(arrayPrototype, ['concat'], () => (f, lf, th, lth, v, l) => {
  if (
    !Array.isArray(th) ||
    proxies.has(th) ||
    [th, ...v].some((x) => isObject(x) && (proxies.has(x) || x[Symbol.isConcatSpreadable] !== undefined))
  )
    return NO_MODEL;
  const r = Reflect.apply(f, th, v);
  let at = 0;
  [[th, lth], ...v.map((x, i) => [x, l[i]])].forEach(([x, lx]) => {
    if (Array.isArray(x)) {
      for (let i = 0; i < x.length; i++) setLabel(r, at++, elementLabel(x, i, lx));
      shape(r, join(lx, shapeLabel(x)));
    } else setLabel(r, at++, lx);
  });
  R.l = 0;
  return r;
});
model(arrayPrototype, ['at'], () => (f, lf, th, lth, v, l) => {
  if (!Array.isArray(th) || proxies.has(th)) return NO_MODEL;
  let i = Math.trunc(Number(v[0])) || 0;
  if (i < 0) i += th.length;
  const r = Reflect.apply(f, th, v);
  R.l = join(join(elementLabel(th, i, lth), l[0]), v[0] < 0 ? shapeLabel(th) : 0);
  return r;
});
export const iterModel = (kind) => (f, lf, th, lth, v, l) => {
  if (proxies.has(th) || !(Array.isArray(th) || th instanceof Map || th instanceof Set)) return NO_MODEL;
  const it = Reflect.apply(f, th, []);
  let i = 0;
  iterators.set(it, {
    src: th,
    l: lth,
    label(r) {
      if (r.done) return 0;
      const x = r.value,
        m = records.get(th);
      if (Array.isArray(th)) {
        const at = i++;
        const le = elementLabel(th, at, lth);
        if (kind === 'entries') {
          setLabel(x, 1, le);
          return lth;
        }
        return kind === 'keys' ? join(lth, 0) : le;
      }
      const one = (k) => join(join(lth, m?.a), m?.mk?.get(k));
      const val = (k) => join(one(k), m?.m?.get(k));
      if (kind === 'entries') {
        setLabel(x, 0, one(x[0]));
        setLabel(x, 1, th instanceof Set ? one(x[0]) : val(x[0]));
        return lth;
      }
      if (kind === 'keys' || th instanceof Set) return one(x);
      let a = lth;
      if (m) {
        a = join(a, m.a);
        if (m.m) for (const y of m.m.values()) a = join(a, y);
      }
      return a;
    },
  });
  R.l = 0;
  return it;
};
for (const o of [arrayPrototype, Map.prototype, Set.prototype])
  for (const k of ['keys', 'values', 'entries'])
    if (!models.has(o[k])) models.set(o[k], iterModel(o === Set.prototype && k === 'keys' ? 'values' : k));
models.set(Map.prototype.get, (f, lf, th, lth, v, l) => {
  if (!(th instanceof Map)) return NO_MODEL;
  const m = records.get(th);
  const r = Reflect.apply(f, th, v);
  R.l = join(join(lth, selectedBy(l[0])), m ? join(m.a, join(m.k && r === undefined ? m.k : 0, m.m?.get(v[0]))) : 0);
  return r;
});
models.set(Map.prototype.set, (f, lf, th, lth, v, l) => {
  if (!(th instanceof Map)) return NO_MODEL;
  Reflect.apply(f, th, v);
  setEntry(th, v[0], join(l[0], lth), v[1], join(l[1], lth));
  R.l = lth;
  return th;
});
models.set(Set.prototype.add, (f, lf, th, lth, v, l) => {
  if (!(th instanceof Set)) return NO_MODEL;
  Reflect.apply(f, th, v);
  addKey(th, v[0], join(l[0], lth));
  R.l = lth;
  return th;
});
for (const o of [Map.prototype, Set.prototype]) {
  models.set(o.has, (f, lf, th, lth, v, l) => {
    R.l = join(references(0, lth, l), shapeLabel(th));
    return Reflect.apply(f, th, v);
  });
  models.set(o.delete, (f, lf, th, lth, v, l) => {
    const r = Reflect.apply(f, th, v);
    shape(th, references(0, lth, l));
    R.l = join(references(0, lth, l), shapeLabel(th));
    return r;
  });
  models.set(o.forEach, (f, lf, th, lth, v, l) => {
    if (typeof v[0] !== 'function') return NO_MODEL;
    const m = records.get(th);
    Reflect.apply(f, th, [
      (x, k, c) => {
        const a = join(join(lth, m?.a), m?.mk?.get(k));
        run(v[0], l[0], v[1], l[1], [x, k, c], [join(a, m?.m?.get(k)), a, lth]);
      },
    ]);
    R.l = 0;
    return undefined;
  });
}
models.set(WeakMap.prototype.get, (f, lf, th, lth, v, l) => {
  const m = isObject(v[0]) ? records.get(v[0]) : undefined,
    w = m?.weak?.get(th);
  R.l = join(references(0, lth, l), w);
  return Reflect.apply(f, th, v);
});
models.set(WeakMap.prototype.set, (f, lf, th, lth, v, l) => {
  const r = Reflect.apply(f, th, v);
  (recordOf(v[0]).weak ??= new WeakMap()).set(th, references(0, lth, l));
  R.l = lth;
  return r;
});
export const ownMembers = (k) => (f, lf, th, lth, v, l) => {
  const o = v[0];
  if (!isObject(o) || proxies.has(o)) return NO_MODEL;
  const [r] = guard(join(l[0], 0), () => Reflect.apply(f, th, [o]));
  const keys = Object.keys(o);
  const sh = join(l[0], shapeLabel(o));
  if (k === 'values')
    keys.forEach((x, i) => {
      R.get(o, l[0], x, 0);
      setLabel(r, i, R.l);
    });
  else if (k === 'entries')
    keys.forEach((x, i) => {
      R.get(o, l[0], x, 0);
      setLabel(r[i], 0, sh);
      setLabel(r[i], 1, R.l);
    });
  else keys.forEach((x, i) => setLabel(r, i, sh));
  shape(r, sh);
  R.l = 0;
  return r;
};
model(Object, ['keys', 'values', 'entries'], ownMembers);
models.set(Object.fromEntries, (f, lf, th, lth, v, l) => {
  const r = {};
  const it = iterOf(v[0], l[0]);
  for (;;) {
    const s = it.step();
    if (s.done) break;
    const le = R.l,
      k = R.key(R.get(s.value, le, 0, 0)),
      lk = R.l,
      x = R.get(s.value, le, 1, 0);
    Object.defineProperty(r, k, { value: x, writable: true, enumerable: true, configurable: true });
    setLabel(r, k, join(R.l, lk));
    shape(r, lk);
  }
  shape(r, l[0]);
  R.l = 0;
  return r;
});
models.set(Object.assign, (f, lf, th, lth, v, l) => {
  if (!isObject(v[0])) return NO_MODEL;
  for (let i = 1; i < v.length; i++)
    if (v[i] != null)
      for (const k of Reflect.ownKeys(Object(v[i])))
        if (Object.prototype.propertyIsEnumerable.call(v[i], k)) {
          const x = R.get(v[i], l[i], k, 0);
          R.set(v[0], l[0], k, join(0, isObject(v[i]) ? join(l[i], shapeLabel(v[i])) : l[i]), x, R.l);
        }
  R.l = l[0];
  return v[0];
});
models.set(Object.create, (f, lf, th, lth, v, l) => {
  if (v[1] !== undefined) return NO_MODEL;
  R.l = l[0];
  return Reflect.apply(f, th, v);
});
for (const f of [Object.freeze, Object.seal, Object.preventExtensions])
  models.set(f, (g, lf, th, lth, v, l) => {
    R.l = l[0];
    return g(v[0]);
  });
models.set(Object.defineProperty, (f, lf, th, lth, v, l) => {
  const r = Reflect.apply(f, th, v);
  const d = v[2];
  for (const x of [d?.get, d?.set]) void x;
  R.get(d, l[2], 'value', 0);
  setLabel(v[0], v[1], join(R.l, references(0, 0, l)));
  shape(v[0], l[1]);
  R.l = l[0];
  return r;
});
models.set(Array.from, (f, lf, th, lth, v, l) => {
  if (v[0] == null || v[0][Symbol.iterator] == null || th !== Array) return NO_MODEL;
  const it = iterOf(v[0], l[0]),
    r = [];
  for (;;) {
    const s = it.step();
    if (s.done) break;
    let x = s.value,
      lx = R.l;
    if (typeof v[1] === 'function') {
      x = run(v[1], l[1], v[2], l[2], [x, r.length], [lx, 0]);
      lx = R.l;
    }
    r.push(x);
    setLabel(r, r.length - 1, lx);
  }
  shape(r, join(l[0], isObject(v[0]) ? shapeLabel(v[0]) : l[0]));
  R.l = 0;
  return r;
});
models.set(Function.prototype.call, (f, lf, th, lth, v, l, pc) =>
  R.call(
    th,
    lth,
    v[0],
    l[0],
    v.slice(1).flatMap((x, i) => [x, l[i + 1]]),
    pc,
  ),
);
models.set(Function.prototype.apply, (f, lf, th, lth, v, l, pc) =>
  R.call(
    th,
    lth,
    v[0],
    l[0],
    v[1] == null ? [] : Array.from({ length: v[1].length }, (_, i) => [R.get(v[1], l[1], i, 0), R.l]).flat(),
    pc,
  ),
);
models.set(Reflect.apply, (f, lf, th, lth, v, l, pc) =>
  R.call(
    v[0],
    l[0],
    v[1],
    l[1],
    Array.from({ length: v[2].length }, (_, i) => [R.get(v[2], l[2], i, 0), R.l]).flat(),
    pc,
  ),
);
models.set(Function.prototype.bind, (f, lf, th, lth, v, l) => {
  const b = trampoline((t, a, la, lt, pc) =>
    R.call(
      th,
      lth,
      v[0],
      l[0],
      [...v.slice(1).flatMap((x, i) => [x, l[i + 1]]), ...a.flatMap((x, i) => [x, la(i)])],
      pc,
    ),
  );
  const nb = Reflect.apply(f, th, v);
  for (const k of ['length', 'name']) Object.defineProperty(b, k, { value: nb[k], configurable: true });
  smear(b, contentLabels(th));
  boundFunctions.set(b, { f: th, lf: lth, th: v[0], lth: l[0], flat: v.slice(1).flatMap((x, i) => [x, l[i + 1]]) });
  R.l = 0;
  return b;
});
models.set(Reflect.get, (f, lf, th, lth, v, l) => {
  if (v.length > 2 || !isObject(v[0])) return NO_MODEL;
  return R.get(v[0], l[0], v[1], l[1]);
});
models.set(Reflect.set, (f, lf, th, lth, v, l) => {
  const r = Reflect.apply(f, th, v);
  smear(v[0], references(0, 0, l));
  if (v[3]) smear(v[3], references(0, 0, l));
  R.l = references(0, 0, l);
  return r;
});
// promises
/** `info.isCatch`: the callback runs only after a failure, whose sources have then selected the branch. */
export const chained = (p, cb, lcb, info) => {
  if (typeof cb !== 'function') return cb;
  const { pc } = now;
  return (v) => {
    const lv = info.lv(v);
    const r = run(cb, lcb, undefined, 0, [v], [lv], info.isCatch ? join(pc, branchOf(lv)) : pc);
    info.l = join(info.l, R.l);
    if (isObject(r)) info.v.push(r);
    return r;
  };
};
models.set(Promise.prototype.then, (f, lf, th, lth, v, l) => {
  if (!(th instanceof Promise)) return NO_MODEL;
  const a = { l: 0, v: [], lv: (x) => join(lth, settled(th, x)) };
  const b = { ...a, l: 0, v: a.v, lv: (x) => join(lth, R.caught(x)), isCatch: true };
  const r = Reflect.apply(f, th, [chained(th, v[0], l[0], a), chained(th, v[1], l[1], b)]);
  promises.set(r, {
    get: (x) =>
      a.v.reduce(
        (s, y) => join(s, settled(y, x)),
        join(join(a.l, b.l), typeof v[0] === 'function' ? 0 : settled(th, x)),
      ),
  });
  R.l = 0;
  return r;
});
models.set(Promise.prototype.catch, (f, lf, th, lth, v, l, pc) =>
  th instanceof Promise ? R.call(Promise.prototype.then, 0, th, lth, [undefined, 0, v[0], l[0]], pc) : NO_MODEL,
);
models.set(Promise.prototype.finally, (f, lf, th, lth, v, l) => {
  if (!(th instanceof Promise)) return NO_MODEL;
  const { pc } = now;
  const r = Reflect.apply(f, th, [typeof v[0] === 'function' ? () => run(v[0], l[0], undefined, 0, [], [], pc) : v[0]]);
  promises.set(r, { get: (x) => settled(th, x) });
  R.l = 0;
  return r;
});
model(Promise, ['all', 'allSettled', 'race', 'any'], (k) => (f, lf, th, lth, v, l) => {
  if (th !== Promise || v[0] == null) return NO_MODEL;
  const flat = R.spread(v[0], l[0]),
    [xs, ls] = split(flat);
  const r = Reflect.apply(f, th, [xs]);
  const one = (i, x) => join(ls[i], isObject(xs[i]) ? settled(xs[i], x) : 0);
  promises.set(r, {
    get: (x) => {
      if (k === 'all') xs.forEach((_, i) => setLabel(x, i, one(i, x[i])));
      else if (k === 'allSettled')
        xs.forEach((_, i) => {
          const s = x[i];
          if (s.status === 'fulfilled') setLabel(s, 'value', one(i, s.value));
          else setLabel(s, 'reason', R.caught(s.reason));
        });
      else return xs.reduce((a, _, i) => join(a, one(i, x)), 0);
      shape(x, isObject(v[0]) ? join(l[0], shapeLabel(v[0])) : 0);
      return 0;
    },
  });
  R.l = 0;
  return r;
});
models.set(Promise.resolve, (f, lf, th, lth, v, l) => {
  const r = Reflect.apply(f, th, v);
  if (r !== v[0]) promises.set(r, { get: (x) => join(l[0], isObject(v[0]) ? settled(v[0], x) : 0) });
  R.l = r === v[0] ? l[0] : 0;
  return r;
});
models.set(Promise.reject, (f, lf, th, lth, v, l) => {
  noteThrown(v[0], l[0]);
  const r = Reflect.apply(f, th, v);
  promises.set(r, { get: () => 0 });
  R.l = 0;
  return r;
});
if (Promise.withResolvers)
  models.set(Promise.withResolvers, (f, lf, th, lth) => {
    const r = Reflect.apply(f, th, []);
    const info = { l: 0, v: [] };
    resolvers.set(r.resolve, info);
    resolvers.set(r.reject, { l: 0, rejects: true });
    r.resolve = resolverAsRewritten(r.resolve);
    r.reject = resolverAsRewritten(r.reject);
    promises.set(r.promise, { get: (x) => info.v.reduce((a, y) => join(a, settled(y, x)), info.l) });
    R.l = 0;
    return r;
  });
for (const [o, ks] of [
  [arrayPrototype, ['push', 'pop', 'shift', 'unshift', 'splice', 'reverse', 'sort', 'fill', 'copyWithin']],
  [Map.prototype, ['set', 'delete', 'clear']],
  [Set.prototype, ['add', 'delete', 'clear']],
  [Object, ['assign', 'defineProperty', 'defineProperties', 'setPrototypeOf']],
  [Reflect, ['set', 'defineProperty', 'setPrototypeOf', 'apply']],
  [WeakMap.prototype, ['set']],
])
  for (const k of ks) mutating.add(o[k]);
