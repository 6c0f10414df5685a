import { branchOf, everything, join, now, selectedBy } from './labels.js';
import {
  NO_MODEL,
  boundFunctions,
  contentLabels,
  deepLabel,
  generatorLabel,
  generators,
  hasOwn,
  homes,
  isObject,
  isView,
  models,
  promises,
  proxies,
  records,
  resolvers,
  rewritten,
  setLabel,
  shape,
  shapeLabel,
  smear,
  templateSites,
  thrownObjects,
  thrownPrimitives,
} from './records.js';
import { enter, enterLater, split } from './frames.js';
import {
  accessorMakers,
  addKey,
  asRewritten,
  guard,
  invoke,
  mutating,
  native,
  noteOtherThrown,
  noteThrown,
  references,
  resolverAsRewritten,
  setEntry,
  settled,
} from './native.js';
import { copyInto, iterOf } from './iterators.js';
import { callHost, hostFunctions, namespaces, toolMember } from './tools.js';
import { natives, plainGetters } from './natives.js';

export const R = {
  l: 0,
  il: 0,
  r: undefined,
  th: undefined,
  lth: 0,
  acc: 0,
  H: { hole: true },
  /** Stands before the label of how many values were spread. */
  S: { spread: true },
  join,
  s: (v, l) => {
    R.l = l || 0;
    return v;
  },
  z: (v) => {
    R.l = 0;
    return v;
  },
  z0: () => {
    R.l = 0;
  },
  z1: (o) => o,
  t: (a, b, c) => c,
  sj: (v, l, c) => {
    R.l = c ? join(l, selectedBy(c)) : l || 0;
    return v;
  },
  /** The label of a branch. */
  br: branchOf,
  /** The label of a branch of which nothing is known. */
  anyBranch: () => branchOf(everything()),
  enter,
  enterLater,
  enterGen(a, n) {
    const f = enterLater([...a], n);
    now.lastFrame = f;
    return f;
  },
  ret(v, l, f) {
    R.l = l || 0;
    if (now.watch) R.acc = join(R.acc, isObject(v) ? join(l, deepLabel(v)) : l);
    if (f) f.out = join(f.out, l);
    return v;
  },
  ra(f, v, l) {
    f.r = join(f.r, l);
    f.rv = v;
    return v;
  },
  link(p, f) {
    promises.set(p, { get: (v) => join(f.r, isObject(f.rv) ? settled(f.rv, v) : 0) });
    R.l = 0;
    return p;
  },
  caught(e) {
    const l = isObject(e) ? thrownObjects.get(e) : thrownPrimitives.get(e);
    return l === undefined ? everything('caught') : l;
  },
  aw(p, lp, v) {
    R.l = isObject(p) ? join(lp, settled(p, v)) : lp || 0;
    return v;
  },
  y(f, v, l) {
    f.out = join(f.out, l);
    R.l = l || 0;
    R.acc = join(R.acc, l);
    return v;
  },
  yr(f, v) {
    R.l = v === undefined ? 0 : f.sent;
    return v;
  },
  yd(f, v) {
    R.l = join(f.out, generatorLabel(f));
    return v;
  },
  yit(v, l, f, isAsync) {
    f.out = join(f.out, join(l, isObject(v) ? deepLabel(v) : 0));
    if (generators.has(v)) f.links.push(generators.get(v));
    else if (isAsync && isObject(v)) f.out = join(f.out, everything('yield*'));
    if (isAsync) return v;
    const it = iterOf(v, l);
    return {
      [Symbol.iterator]: () => ({
        next: (x) => {
          const r = it.step(x);
          f.out = join(f.out, R.l);
          return r;
        },
        return: (x) => {
          it.close();
          return { done: true, value: x };
        },
      }),
    };
  },
  rest(a, f, i) {
    const r = a.slice(i);
    r.forEach((_, x) => setLabel(r, x, f.ls[i + x]));
    R.l = 0;
    return r;
  },
  args(a, f) {
    for (let i = 0; i < a.length; i++) setLabel(a, i, f.ls[i]);
  },
  fn(f, len, name) {
    rewritten.add(f);
    if (f.length !== len) Object.defineProperty(f, 'length', { value: len, configurable: true });
    if (name !== undefined && f.name !== name) Object.defineProperty(f, 'name', { value: name, configurable: true });
    return f;
  },
  cls(C, name) {
    rewritten.add(C);
    if (name && C.name === '') Object.defineProperty(C, 'name', { value: name, configurable: true });
    if (!hasOwn(C, 'length') || C.length) Object.defineProperty(C, 'length', { value: C.length, configurable: true });
    for (const o of [C, C.prototype])
      for (const k of Reflect.ownKeys(o)) {
        const d = Reflect.getOwnPropertyDescriptor(o, k);
        if (d.get || d.set) now.accessors++;
        for (const x of [d.value, d.get, d.set])
          if (typeof x === 'function' && k !== 'constructor' && !natives.has(x)) rewritten.add(x);
      }
    return C;
  },
  accr(o, kind) {
    now.accessors++;
    const f = Object.getOwnPropertyDescriptor(o, 'x')[kind];
    rewritten.add(f);
    return f;
  },
  hm(lit, k) {
    const f = lit[k];
    homes.set(f, lit);
    return f;
  },
  field(o, k, v, l) {
    setLabel(o, k, l);
    return v;
  },
  pget(o, lo, k, _, v, isAcc) {
    const m = records.get(o);
    R.l = isAcc ? join(R.l, lo) : join(lo, m ? join(m.a, m.p[k]) : 0);
    return v;
  },
  pset: (o, k, l) => setLabel(o, k, l),
  clear: () => {
    now.pending = null;
  },
  key: (k) => (isObject(k) ? String(k) : k),
  obj1(v) {
    // The error of the engine.
    if (v == null) void v.x;
    return v;
  },
  get(o, lo, k, lk) {
    const v = R.get0(o, lo, k, lk);
    return typeof v === 'function' && mutating.has(v) ? asRewritten(v) : v;
  },
  get0(o, lo, k, lk) {
    if (namespaces.has(o)) return toolMember(o, lo, k, lk);
    if (
      now.accessors === 0 &&
      now.proxyCount === 0 &&
      typeof o === 'object' &&
      o !== null &&
      typeof k !== 'object' &&
      typeof k !== 'function'
    ) {
      // No code of the script runs. Names that begin with a letter are no elements of a view.
      if (hasOwn(o, k)) {
        if ((typeof k === 'string' && k > ':') || !isView(o)) {
          const m = records.get(o);
          let l = lk ? join(lo, selectedBy(lk)) : lo || 0;
          if (m !== undefined) {
            l = join(join(l, m.a), m.p[k]);
            if (m.k && k === 'length') l = join(l, m.k);
          }
          R.l = l;
          return o[k];
        }
      } else {
        const v = o[k];
        if (typeof v === 'function' && natives.has(v)) {
          R.l = lk || 0;
          return v;
        }
      }
    }
    if (!isObject(o)) {
      R.l = join(lo, lk);
      return o[k];
    }
    return R.getAny(o, lo, k, lk);
  },
  /** Reads a property of an object, whatever code this runs. */
  getAny(o, lo, k, lk) {
    if (isObject(k)) {
      lk = join(lk, deepLabel(k));
      k = typeof k === 'symbol' ? k : String(k);
    }
    const base = join(lo, selectedBy(lk));
    if (proxies.has(o)) {
      const [v, l] = guard(join(base, deepLabel(o)), () => o[k]);
      R.l = l;
      return v;
    }
    const n0 = now.entries,
      sa = now.ambient;
    now.ambient = base;
    now.pending = null;
    R.l = 0;
    let v;
    try {
      v = o[k];
    } catch (e) {
      noteOtherThrown(e, join(base, deepLabel(o)));
      throw e;
    } finally {
      now.ambient = sa;
    }
    let l = now.entries !== n0 ? join(base, R.l) : base,
      x = o;
    if (isView(o)) l = join(l, contentLabels(o.buffer));
    while (x) {
      const m = records.get(x);
      if (m) {
        l = join(join(l, m.a), m.p[k]);
        if (k === 'length' || k === 'size') l = join(l, m.k);
      }
      const d = Reflect.getOwnPropertyDescriptor(x, k);
      if (d) {
        if (d.get && !rewritten.has(d.get) && !plainGetters.has(d.get)) l = join(l, deepLabel(o));
        break;
      }
      x = Object.getPrototypeOf(x);
      if (x && proxies.has(x)) {
        l = join(l, deepLabel(x));
        break;
      }
    }
    if (typeof v === 'function' && x !== o && !rewritten.has(v) && natives.has(v)) l = lk || 0;
    R.l = l;
    return v;
  },
  m(o, lo, k, lk) {
    const f = R.get0(o, lo, k, lk);
    R.th = o;
    R.lth = lo || 0;
    return f;
  },
  sget(_, v, t, k) {
    let x = Object.getPrototypeOf(t);
    while (x) {
      const m = records.get(x);
      if (m) R.l = join(R.l, join(m.a, m.p[k]));
      x = Object.getPrototypeOf(x);
    }
    return typeof v === 'function' && mutating.has(v) ? asRewritten(v) : v;
  },
  g(k) {
    const m = records.get(globalThis);
    return m ? join(m.a, m.p[k]) : 0;
  },
  set(o, lo, k, lk, v, lv) {
    if (isObject(k)) {
      lk = join(lk, deepLabel(k));
      k = typeof k === 'symbol' ? k : String(k);
    }
    lv = lv || 0;
    if (
      now.accessors === 0 &&
      now.proxyCount === 0 &&
      typeof o === 'object' &&
      o !== null &&
      hasOwn(o, k) &&
      !isView(o)
    ) {
      o[k] = v;
      const m = records.get(o);
      const x = join(join(lv, lk), lo);
      if (Array.isArray(o) && k === 'length') shape(o, x);
      else if (x || m) setLabel(o, k, x);
      if (lk || lo) shape(o, join(lk, lo));
      R.l = lv;
      return v;
    }
    const l = join(join(lv, lk), lo),
      n0 = now.entries,
      sa = now.ambient;
    now.ambient = l;
    now.pending = { v: [v], l: [lv], t: lo, pc: 0 };
    try {
      o[k] = v;
    } catch (e) {
      noteOtherThrown(e, l);
      throw e;
    } finally {
      now.pending = null;
      now.ambient = sa;
    }
    if (isObject(o)) {
      if (proxies.has(o)) {
        if (l) smear(proxies.get(o), l);
      } else if (now.entries === n0) {
        if (isView(o)) smear(o, l);
        else if (Reflect.getOwnPropertyDescriptor(o, k)?.writable !== undefined) {
          if (Array.isArray(o) && k === 'length') shape(o, l);
          else setLabel(o, k, l);
          if (lk || lo) shape(o, join(lk, lo));
        } else smear(o, l);
      }
    }
    R.l = lv;
    return v;
  },
  upd(o, lo, k, lk, d, prefix, pc) {
    const key = R.key(k);
    const old = R.get(o, lo, key, lk),
      l = join(R.l, pc);
    const num = typeof old === 'bigint' ? old : Number(old);
    const v = typeof num === 'bigint' ? num + BigInt(d) : num + d;
    R.set(o, lo, key, lk, v, join(l, isObject(old) ? deepLabel(old) : 0));
    R.l = l;
    return prefix ? v : num;
  },
  up: (v, l) => (isObject(v) ? join(l, join(deepLabel(v), everything('++'))) : l || 0),
  del(o, lo, k, lk) {
    const r = delete_(o, k);
    if (isObject(o)) shape(o, join(lo, lk));
    R.l = join(lo, lk);
    return r;
  },
  del1(o, lo, k, lk) {
    return o == null ? ((R.l = lo), true) : R.del(o, lo, k, lk);
  },
  un(op, v, l) {
    if (op === '!') {
      R.l = l;
      return !v;
    }
    if (op === 'typeof') {
      R.l = l;
      return typeof v;
    }
    const f = op === '-' ? (x) => -x : op === '+' ? (x) => +x : (x) => ~x;
    if (!isObject(v)) {
      R.l = l || 0;
      return f(v);
    }
    const [r, lr] = guard(join(l, deepLabel(v)), () => f(v));
    R.l = lr;
    return r;
  },
  same(a, la, b, lb) {
    R.l = join(la, lb);
    return a === b;
  },
  differ(a, la, b, lb) {
    R.l = join(la, lb);
    return a !== b;
  },
  isin(k, lk, o, lo) {
    let l = join(lk, lo),
      x = o;
    if (proxies.has(o)) {
      const [v, l2] = guard(join(l, deepLabel(o)), () => k in o);
      R.l = l2;
      return v;
    }
    while (isObject(x)) {
      const m = records.get(x);
      if (m) l = join(l, join(join(m.a, m.k), m.p[k]));
      x = Object.getPrototypeOf(x);
    }
    R.l = l;
    return k in o;
  },
  inst(a, la, b, lb) {
    const [v, l] = guard(join(la, lb), () => a instanceof b);
    R.l = l;
    return v;
  },
  tpl(ownMembers, flat) {
    let out = ownMembers[0],
      l = 0;
    for (let i = 0; i < flat.length; i += 2) {
      const v = flat[i];
      if (isObject(v)) {
        const [s, ls] = guard(join(flat[i + 1], deepLabel(v)), () => `${v}`);
        out += s;
        l = join(l, ls);
      } else {
        out += `${v}`;
        l = join(l, flat[i + 1]);
      }
      out += ownMembers[i / 2 + 1];
    }
    R.l = l;
    return out;
  },
  site(id, cooked, raw) {
    let s = templateSites.get(id);
    if (!s) {
      s = cooked;
      Object.defineProperty(s, 'raw', { value: Object.freeze(raw) });
      templateSites.set(id, Object.freeze(s));
    }
    return s;
  },
  arr(flat) {
    const a = [];
    let at = 0;
    for (let i = 0; i < flat.length; i += 2) {
      const v = flat[i],
        l = flat[i + 1];
      if (v === R.S) {
        shape(a, l);
        continue;
      }
      if (v !== R.H) {
        a[at] = v;
        if (l) setLabel(a, at, l);
      }
      at++;
    }
    a.length = at;
    return a;
  },
  /** An object literal without computed names, and the labels of its members: name and label in turn. */
  ol(o, ...labels) {
    for (let i = 0; i < labels.length; i += 2) if (labels[i + 1]) setLabel(o, labels[i], labels[i + 1]);
    R.l = 0;
    return o;
  },
  obj(flat) {
    const o = {},
      literals = [];
    for (let i = 0; i < flat.length; i += 5) {
      const kind = flat[i],
        l = flat[i + 4];
      let k = flat[i + 1],
        lk = flat[i + 2];
      if (kind === '...') {
        copyInto(o, flat[i + 3], l, [], true);
        continue;
      }
      if (isObject(k)) {
        lk = join(lk, deepLabel(k));
        k = String(k);
      }
      if (kind === 'proto') {
        if (isObject(flat[i + 3]) || flat[i + 3] === null) Object.setPrototypeOf(o, flat[i + 3]);
        continue;
      }
      if (kind === 'v')
        Object.defineProperty(o, k, { value: flat[i + 3], writable: true, enumerable: true, configurable: true });
      else Object.defineProperty(o, k, { [kind]: flat[i + 3], enumerable: true, configurable: true });
      const x = join(l, lk);
      if (x || records.has(o)) setLabel(o, k, x);
      if (lk) shape(o, lk);
      if (typeof flat[i + 3] === 'function' && homes.has(flat[i + 3])) literals.push(homes.get(flat[i + 3]));
    }
    for (const h of literals) Object.setPrototypeOf(h, Object.getPrototypeOf(o));
    return o;
  },
  orest(o, lo, used) {
    const r = {};
    copyInto(
      r,
      o,
      lo,
      used.map((x) => (typeof x === 'symbol' ? x : String(x))),
      false,
    );
    R.l = 0;
    return r;
  },
  /** The label of how many values there are in what a loop iterates over. */
  its: (v, l) => join(l, !isObject(v) ? 0 : Array.isArray(v) ? shapeLabel(v) : deepLabel(v)),
  it(v, l) {
    const it = iterOf(v, l);
    return {
      [Symbol.iterator]: () => ({
        next: () => {
          const r = it.step();
          R.il = R.l;
          return r;
        },
        return: () => {
          it.close();
          return {};
        },
      }),
    };
  },
  ait(v, l) {
    if (v[Symbol.asyncIterator] == null) {
      const it = iterOf(v, l);
      let cur = 0,
        raw;
      return {
        lab: (x) => join(cur, isObject(raw) ? settled(raw, x) : 0),
        o: {
          [Symbol.iterator]: () => ({
            next: () => {
              const r = it.step();
              cur = R.l;
              raw = r.value;
              return r;
            },
            return: () => {
              it.close();
              return {};
            },
          }),
        },
      };
    }
    const it = R.call(R.m(v, l, Symbol.asyncIterator, 0), 0, v, l, [], R.anyBranch()),
      g = generators.get(it);
    const o = { next: () => R.call(R.m(it, l, 'next', 0), 0, it, l, [], R.anyBranch()) };
    if (it.return) o.return = (x) => R.call(R.m(it, l, 'return', 0), 0, it, l, [], R.anyBranch());
    return {
      lab: (x) => (g ? join(l, generatorLabel(g)) : join(l, everything('for await'))),
      o: { [Symbol.asyncIterator]: () => o },
    };
  },
  *forin(o, l) {
    if (o == null) return;
    const lab = join(l, isObject(o) ? join(shapeLabel(o), 0) : 0);
    for (const k in o) {
      R.il = lab;
      yield k;
    }
  },
  /** The values of a spread element of an array, and how many they are. */
  spreadIn(v, l) {
    const out = R.spread(v, l);
    out.push(R.S, R.its(v, l));
    return out;
  },
  spread(v, l) {
    const out = [];
    const it = iterOf(v, l);
    for (;;) {
      const r = it.step();
      if (r.done) return out;
      out.push(r.value, R.l);
    }
  },
  pit(v, l) {
    const it = iterOf(v, l);
    let done = false;
    return {
      n() {
        if (done) {
          R.l = l;
          return undefined;
        }
        const r = it.step();
        if (r.done) {
          done = true;
          R.l = l || 0;
          return undefined;
        }
        return r.value;
      },
      r() {
        const a = [];
        while (!done) {
          const r = it.step();
          if (r.done) {
            done = true;
            break;
          }
          a.push(r.value);
          setLabel(a, a.length - 1, R.l);
        }
        R.l = 0;
        return a;
      },
      c() {
        if (!done) it.close();
      },
    };
  },
  sup(flat, pc) {
    const [v, l] = split(flat);
    now.pending = { v, l, t: 0, pc };
    R.supN = now.entries;
    R.supL = l.reduce(
      join,
      v.reduce((x, y) => join(x, deepLabel(y)), 0),
    );
    return v;
  },
  supd(t) {
    now.pending = null;
    if (now.entries === R.supN) smear(t, R.supL);
  },
  call(f, lf, th, lth, flat, pc, forced) {
    const v = [],
      l = [];
    for (let i = 0, at = 0; i < flat.length; i += 2, at++) {
      v[at] = flat[i];
      l[at] = flat[i + 1] || 0;
    }
    if (forced || rewritten.has(f)) return invoke(f, lf, th, lth, v, l, pc);
    return R.callSplit(f, lf, th, lth, v, l, pc);
  },
  callSplit(f, lf, th, lth, v, l, pc) {
    if (pc === undefined) return R.callNative(f, lf, th, lth, v, l, pc);
    const before = now.pc;
    // Also the number of values selects how often a callback runs.
    now.pc = join(pc, branchOf(join(lth, isObject(th) ? shapeLabel(th) : 0)));
    try {
      return R.callNative(f, lf, th, lth, v, l, pc);
    } finally {
      now.pc = before;
    }
  },
  callNative(f, lf, th, lth, v, l, pc) {
    if (typeof f !== 'function') {
      R.l = 0;
      return f(...v);
    }
    const h = hostFunctions.get(f);
    if (h !== undefined) return callHost(f, h, v, l, join(pc, branchOf(lf)));
    const res = resolvers.get(f);
    if (res) {
      res.l = join(res.l, join(l[0], lf));
      res.v ??= [];
      if (isObject(v[0])) res.v.push(v[0]);
      if (res.rejects) noteThrown(v[0], res.l);
      R.l = 0;
      return f(...v);
    }
    if (accessorMakers.has(f)) now.accessors++;
    if (f === Proxy.revocable) {
      const r = Reflect.apply(f, th, v);
      proxies.set(r.proxy, v[0]);
      now.proxyCount++;
      smear(v[0], join(l[0], l[1]));
      R.l = 0;
      return r;
    }
    const model = models.get(f);
    if (model) {
      const done = model(f, lf || 0, th, lth || 0, v, l, pc);
      if (done !== NO_MODEL) return done;
    }
    return native(f, lf, th, lth, v, l);
  },
  /** A new collection with the entries of `v[0]`. */
  collection(F, lF, v, l, pc) {
    if (v[0] == null) {
      R.l = 0;
      return new F(...v);
    }
    const c = new F();
    const it = iterOf(v[0], l[0]);
    for (;;) {
      const r = it.step();
      if (r.done) break;
      const le = R.l;
      if (F === Set || F === WeakSet) {
        c.add(r.value);
        if (F === Set) addKey(c, r.value, le);
      } else if (F === WeakMap) {
        const k = R.get(r.value, le, 0, 0),
          lk = R.l,
          x = R.get(r.value, le, 1, 0);
        R.call(c.set, 0, c, 0, [k, lk, x, R.l], pc);
      } else {
        const k = R.get(r.value, le, 0, 0),
          lk = R.l,
          x = R.get(r.value, le, 1, 0),
          lx = R.l;
        c.set(k, x);
        setEntry(c, k, lk, x, lx);
      }
    }
    R.l = lF || 0;
    return c;
  },
  new(F, lF, flat, pc) {
    const [v, l] = split(flat);
    if (rewritten.has(F)) {
      const p = { v, l, t: 0, pc, isTaken: false };
      now.pending = p;
      const sa = now.ambient;
      now.ambient = -1;
      const sw = now.watch;
      now.watch = 0;
      try {
        const r = Reflect.construct(F, v);
        // A class without a constructor gives its arguments to a built-in one.
        if (!p.isTaken)
          smear(
            r,
            references(
              0,
              0,
              v.map((x, i) => join(l[i], deepLabel(x))),
            ),
          );
        return r;
      } finally {
        now.pending = null;
        now.ambient = sa;
        now.watch = sw;
        R.l = lF || 0;
      }
    }
    const b = boundFunctions.get(F);
    if (b) return R.new(b.f, join(lF, b.lf), [...b.flat, ...flat], pc);
    if (F === Promise && typeof v[0] === 'function') {
      const info = { l: 0, v: [] },
        no = { l: 0, rejects: true };
      const p = new Promise((ok, ko) => {
        resolvers.set(ok, info);
        resolvers.set(ko, no);
        R.call(v[0], l[0], undefined, 0, [resolverAsRewritten(ok), 0, resolverAsRewritten(ko), 0], pc);
      });
      promises.set(p, { get: (x) => info.v.reduce((a, y) => join(a, settled(y, x)), info.l) });
      R.l = 0;
      return p;
    }
    if (F === Map || F === Set || F === WeakMap || F === WeakSet) return R.collection(F, lF, v, l, pc);
    if (F === Proxy) {
      const p = new Proxy(...v);
      proxies.set(p, v[0]);
      now.proxyCount++;
      smear(v[0], join(l[0], l[1]));
      R.l = 0;
      return p;
    }
    if (typeof F !== 'function') {
      return new F(...v);
    }
    if (F === Date && v.length === 0) {
      R.l = now.clock;
      return new Date();
    }
    return native(F, lF, undefined, 0, v, l, true);
  },
};
export const OPS = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  mod: (a, b) => a % b,
  pow: (a, b) => a ** b,
  or: (a, b) => a | b,
  and: (a, b) => a & b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a << b,
  shr: (a, b) => a >> b,
  ushr: (a, b) => a >>> b,
  lt: (a, b) => a < b,
  gt: (a, b) => a > b,
  le: (a, b) => a <= b,
  ge: (a, b) => a >= b,
  // oxlint-disable-next-line eqeqeq
  eq: (a, b) => a == b,
  // oxlint-disable-next-line eqeqeq
  ne: (a, b) => a != b,
};
for (const k in OPS) {
  const op = OPS[k];
  R[k] = (a, la, b, lb) => {
    const ta = typeof a,
      tb = typeof b;
    if (ta === 'object' || ta === 'function' || tb === 'object' || tb === 'function') {
      const [v, l] = guard(join(join(la, lb), join(deepLabel(a), deepLabel(b))), () => op(a, b));
      R.l = l;
      return v;
    }
    R.l = la === lb ? la || 0 : join(la, lb);
    return op(a, b);
  };
}
R.thr = (e, l) => {
  noteThrown(e, l || 0);
  return e;
};
export const delete_ = (o, k) => {
  'use strict';
  return delete o[k];
};
