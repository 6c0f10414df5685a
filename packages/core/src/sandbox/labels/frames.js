import { branchOf, everything, now } from './labels.js';

/** An activation of a function that ends later: an asynchronous function or a generator. */
class Activation {
  constructor({ v, ls, t, pc }) {
    this.v = v;
    this.ls = ls;
    this.t = t;
    this.pc = pc;
    this.r = 0;
    this.rv = undefined;
    this.rej = 0;
    this.out = 0;
    this.sent = 0;
    this.links = [];
  }
}
export const ambientLabel = () => (now.ambient === -1 ? everything('ambient') : now.ambient);
/** `ls`: the labels of the arguments `a`, of which the function has `n` parameters; `t`: that of `this`. */
export function enter(a, n) {
  now.entries++;
  const p = now.pending;
  if (p !== null) {
    now.pending = null;
    const v = p.v;
    let i = v.length;
    if (i === a.length) {
      while (i > 0 && (v[i - 1] === a[i - 1] || (v[i - 1] !== v[i - 1] && a[i - 1] !== a[i - 1]))) i--;
      if (i === 0) {
        p.isTaken = true;
        return { v: a, ls: p.l, t: p.t, pc: p.pc || 0 };
      }
    }
  }
  const l = ambientLabel(),
    ls = [];
  for (let i = 0; i < n || i < a.length; i++) ls[i] = l;
  // Nothing says in which branch native code was called.
  return { v: a, ls, t: l, pc: branchOf(everything()) };
}
export const enterLater = (a, n) => new Activation(enter(a, n));
export const split = (flat) => {
  const v = [],
    l = [];
  for (let i = 0, at = 0; i < flat.length; i += 2, at++) {
    v[at] = flat[i];
    l[at] = flat[i + 1] || 0;
  }
  return [v, l];
};
