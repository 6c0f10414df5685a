import { everything, join } from './labels.js';
import { isObject, iterators, proxies, setLabel, shape, shapeLabel } from './records.js';
import { R } from './registers.js';

export function copyInto(to, from, l, used, spread) {
  if (from == null) return;
  if (!isObject(from)) {
    for (const k of Object.keys(Object(from))) {
      to[k] = from[k];
      setLabel(to, k, l);
    }
    return;
  }
  for (const k of Reflect.ownKeys(from)) {
    if (used.includes(k)) continue;
    const d = Reflect.getOwnPropertyDescriptor(from, k);
    if (!d || !d.enumerable) continue;
    const v = R.get(from, l, k, 0);
    Object.defineProperty(to, k, { value: v, writable: true, enumerable: true, configurable: true });
    setLabel(to, k, R.l);
  }
  const s = proxies.has(from) ? everything('proxy') : shapeLabel(from);
  shape(to, join(l, s));
  R.l = 0;
}
export const arrayIterator = Object.getPrototypeOf([][Symbol.iterator]()),
  arrNext = arrayIterator.next,
  arrValues = Array.prototype.values;
export function iterLabel(it, r) {
  const x = iterators.get(it);
  if (!x) return everything('iterator');
  return x.label(r);
}
export function iterOf(v, l) {
  l = l || 0;
  if (Array.isArray(v) && !proxies.has(v) && v[Symbol.iterator] === arrValues && arrayIterator.next === arrNext) {
    let i = 0;
    return {
      step: () =>
        i < v.length
          ? { value: ((R.l = 0), (R.r2 = R.get(v, l, i++, 0))), done: false }
          : ((R.l = 0), { value: undefined, done: true }),
      close() {},
    };
  }
  if (typeof v === 'string') {
    const it = v[Symbol.iterator]();
    return {
      step: () => {
        const r = it.next();
        R.l = l;
        return r;
      },
      close() {},
    };
  }
  const fn = R.get(v, l, Symbol.iterator, 0),
    it = R.call(fn, 0, v, l, [], R.anyBranch()),
    lit = R.l,
    next = R.get(it, join(l, lit), 'next', 0);
  return {
    step(x) {
      const args = x === undefined ? [] : [x, 0];
      const r = R.call(next, 0, it, join(l, lit), args, R.anyBranch());
      const lr = join(R.l, join(l, lit));
      const done = r.done;
      if (done) {
        R.get(r, lr, 'value', 0);
        return { value: r.value, done: true };
      }
      const value = R.get(r, lr, 'value', 0);
      return { value, done: false };
    },
    close() {
      const f = R.get(it, join(l, lit), 'return', 0);
      if (f != null) R.call(f, 0, it, join(l, lit), [], R.anyBranch());
    },
  };
}
// ---- tools
