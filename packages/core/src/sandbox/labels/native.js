import { branchOf, everything, join, now, table } from './labels.js';
import {
  deepLabel,
  fixed,
  generatorLabel,
  generators,
  identityOnly,
  isObject,
  iterators,
  promises,
  pureFunctions,
  recordOf,
  rewritten,
  setLabel,
  smear,
  thrownObjects,
  thrownPrimitives,
} from './records.js';
import { enter } from './frames.js';
import { R } from './registers.js';
import { iterLabel } from './iterators.js';

/** A native function as an instrumented one: labels survive when native code calls it. */
export function trampoline(run) {
  const f = {
    f(...a) {
      const fr = enter(a, 0);
      const t = this;
      const v = run(t, a, (i) => fr.ls[i] || 0, fr.t, fr.pc);
      return R.ret(v, R.l);
    },
  }.f;
  rewritten.add(f);
  return f;
}
export function resolverAsRewritten(res) {
  const f = trampoline((t, a, la, lt, pc) =>
    R.call(
      res,
      0,
      undefined,
      0,
      a.slice(0, 1).flatMap((x, i) => [x, la(i)]),
      pc,
    ),
  );
  Object.defineProperty(f, 'name', { value: '' });
  Object.defineProperty(f, 'length', { value: 1 });
  return f;
}
export const accessorMakers = new Set([
  Object.defineProperty,
  Object.defineProperties,
  Reflect.defineProperty,
  Object.create,
  Object.prototype.__defineGetter__,
  Object.prototype.__defineSetter__,
]);
export const mutating = table(new Set()),
  trampolines = table(new WeakMap());
export function asRewritten(g) {
  let f = trampolines.get(g);
  if (!f) {
    f = trampoline((t, a, la, lt, pc) =>
      R.call(
        g,
        0,
        t,
        lt,
        a.flatMap((x, i) => [x, la(i)]),
        pc,
      ),
    );
    for (const k of ['length', 'name']) Object.defineProperty(f, k, { value: g[k], configurable: true });
    trampolines.set(g, f);
  }
  return f;
}
export const noteThrown = (e, l) => {
  if (isObject(e)) thrownObjects.set(e, join(thrownObjects.get(e), l));
  else thrownPrimitives.set(e, join(thrownPrimitives.get(e), l));
};
export const noteOtherThrown = (e, l) => {
  if (isObject(e) ? !thrownObjects.has(e) : !thrownPrimitives.has(e)) noteThrown(e, l);
};
/** Runs native code that may call the script's functions: they get the label for their arguments. */
export function guard(l, run) {
  const sa = now.ambient,
    sw = now.watch,
    sacc = R.acc;
  now.ambient = l;
  now.watch = 1;
  R.acc = 0;
  now.pending = null;
  try {
    const v = run();
    const r = join(l, R.acc);
    return [v, r];
  } catch (e) {
    noteOtherThrown(e, join(l, R.acc));
    throw e;
  } finally {
    now.ambient = sa;
    now.watch = sw;
    R.acc = join(sacc, R.acc);
  }
}
const { apply } = Reflect;
/** `Reflect.apply`, which takes longer than a call. */
function applied(f, th, v) {
  if (th !== undefined) return apply(f, th, v);
  switch (v.length) {
    case 0:
      return f();
    case 1:
      return f(v[0]);
    case 2:
      return f(v[0], v[1]);
    case 3:
      return f(v[0], v[1], v[2]);
    default:
      return apply(f, th, v);
  }
}
export function invoke(f, lf, th, lth, v, l, pc) {
  now.pending = { v, l, t: lth || 0, pc: lf ? join(pc, branchOf(lf)) : pc || 0 };
  now.lastFrame = null;
  const sa = now.ambient,
    sw = now.watch;
  now.ambient = -1;
  now.watch = 0;
  try {
    const r = applied(f, th, v);
    if (now.lastFrame !== null && isObject(r) && Object.getPrototypeOf(r) === f.prototype) {
      generators.set(r, now.lastFrame);
      R.l = 0;
    }
    now.lastFrame = null;
    if (lf) R.l = join(R.l, lf);
    return r;
  } finally {
    now.pending = null;
    now.ambient = sa;
    now.watch = sw;
  }
}
export const references = (lf, lth, l) => l.reduce(join, join(lf, lth));
export function native(f, lf, th, lth, v, l, isNew) {
  let L = join(now.clock, references(lf, lth, l));
  if (generators.has(th)) {
    const g = generators.get(th);
    g.sent = join(g.sent, l[0]);
    R.l = 0;
    const sa = now.ambient;
    now.ambient = -1;
    try {
      const r = Reflect.apply(f, th, v);
      const x = R.l;
      if (r instanceof Promise) {
        promises.set(r, {
          get: (o) => {
            if (isObject(o)) setLabel(o, 'value', generatorLabel(g));
            return 0;
          },
        });
        R.l = 0;
      } else {
        setLabel(r, 'value', join(x, lth));
        R.l = 0;
      }
      return r;
    } finally {
      now.ambient = sa;
    }
  }
  if (!isNew && (!isObject(th) || fixed.has(th)) && !v.some(isObject)) {
    // Nothing of the script runs, and nothing can change.
    try {
      const r = Reflect.apply(f, th, v);
      R.l = L;
      return r;
    } catch (e) {
      noteOtherThrown(e, L);
      throw e;
    }
  }
  if (iterators.has(th) && f.name === 'next') {
    const r = Reflect.apply(f, th, v);
    setLabel(r, 'value', iterLabel(th, r));
    R.l = lth;
    return r;
  }
  if (!identityOnly.has(f)) {
    const seen = new Set();
    L = join(L, deepLabel(th, seen));
    for (const x of v) L = join(L, deepLabel(x, seen));
  }
  if (
    isObject(th) &&
    typeof th.next === 'function' &&
    !iterators.has(th) &&
    !generators.has(th) &&
    typeof f === 'function' &&
    !Array.isArray(th)
  )
    L = join(L, everything('iterator'));
  const [r, l2] = guard(L, () => (isNew ? Reflect.construct(f, v) : Reflect.apply(f, th, v)));
  if (
    l2 &&
    !pureFunctions.has(f) &&
    !identityOnly.has(f) &&
    !(f === RegExp.prototype.exec && !th.global && !th.sticky) &&
    !(f === RegExp.prototype.test && !th.global && !th.sticky)
  ) {
    smear(th, l2);
    for (const x of v) if (typeof x !== 'function') smear(x, l2);
  }
  R.l = l2;
  return r;
}
export function settled(p, v) {
  const i = promises.get(p);
  if (i) return i.get(v);
  if (p instanceof Promise) return everything('promise');
  return typeof p.then === 'function' ? everything('thenable') : 0;
}
export const addKey = (c, k, l) => {
  const m = recordOf(c);
  (m.mk ??= new Map()).set(k, join(m.mk.get(k), l));
  if (l) m.k = join(m.k, l);
};
export const setEntry = (c, k, lk, v, lv) => {
  const m = recordOf(c);
  addKey(c, k, lk);
  (m.m ??= new Map()).set(k, join(lv, lk));
};
