import { everything, now } from './labels.js';

export class Frame {
  constructor(v, ls, t, pc) {
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
  a(i) {
    return typeof this.ls === 'number' ? this.ls : this.ls[i] || 0;
  }
}
export const ambientLabel = () => (now.ambient === -1 ? everything('ambient') : now.ambient);
export function enter(a, C = Frame) {
  now.entries++;
  const p = now.pending;
  now.pending = null;
  if (p !== null && p.v.length === a.length) {
    let ok = true;
    for (let i = 0; i < a.length; i++) if (!Object.is(p.v[i], a[i])) ok = false;
    if (ok) return new C(a, p.l, p.t, p.pc || 0);
  }
  const l = ambientLabel();
  return new C(a, l, l, l);
}
export const split = (flat) => {
  const v = [],
    l = [];
  for (let i = 0; i < flat.length; i += 2) {
    v.push(flat[i]);
    l.push(flat[i + 1] || 0);
  }
  return [v, l];
};
