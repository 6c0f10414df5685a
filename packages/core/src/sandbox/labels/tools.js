import { join, now, source, table } from './labels.js';
import { deepLabel, hasOwn, isObject, promises, proxies, setLabel, shape, shapeLabel } from './records.js';
import { R } from './registers.js';
import { guard, noteOtherThrown, noteThrown } from './native.js';

/** The functions of the guest that the script calls: tools, timers and output. */
export const hostFunctions = table(new Map());
/** The objects whose members are tools. */
export const namespaces = new WeakSet();
/** A member of a result that the host adds, and that no script sees: the paths of the parts of the result. */
const PARTS = '\0parts';

let rootOfTools;
let write = () => {};
let calls = 0;

/** `report` receives the labels of each tool call's arguments, in the order of the calls. */
export function connectHost(guest, report) {
  rootOfTools = guest.tools;
  write = report;
  namespaces.add(guest.tools);
  const all = (v, l) => v.reduce((sum, x, i) => join(sum, join(l[i], deepLabel(x))), 0);
  const plain = (f, run) => hostFunctions.set(f, { run });
  const shown = (x) => {
    if (typeof x !== 'string')
      try {
        JSON.stringify(x);
      } catch {}
  };
  plain(guest.text, (v, l) => {
    guard(all(v, l), () => shown(v[0]));
  });
  for (const key of Object.keys(guest.console))
    if (typeof guest.console[key] === 'function')
      plain(guest.console[key], (v, l) => {
        guard(all(v, l), () => Reflect.apply(guest.console[key], guest.console, v));
      });
  plain(guest.sleep, (v, l) => {
    now.clock = join(now.clock, all(v, l));
    const p = guest.sleep(...v);
    promises.set(p, { get: () => now.clock });
    return p;
  });
  for (const timer of [guest.setTimeout, guest.setInterval])
    plain(timer, (v, l) => {
      now.clock = join(now.clock, all(v.slice(1), l.slice(1)));
      return timer(...v);
    });
  for (const clock of [Date.now, guest.performance.now])
    plain(clock, () => {
      const value = Reflect.apply(clock, guest.performance, []);
      R.l = now.clock;
      return value;
    });
}

/** Reads a member of `tools`, or of a namespace of it. */
export function toolMember(o, lo, k, lk) {
  if (isObject(k)) {
    lk = join(lk, deepLabel(k));
    k = typeof k === 'symbol' ? k : String(k);
  }
  let value;
  try {
    value = o[k];
  } catch (e) {
    noteOtherThrown(e, join(lo, lk));
    throw e;
  }
  if (typeof value === 'function') {
    if (o === rootOfTools || value.name.includes('.')) hostFunctions.set(value, { tool: value.name });
  } else if (isObject(value)) namespaces.add(value);
  R.l = join(lo, lk);
  return value;
}

export function callHost(f, h, v, l, pc) {
  if (h.tool !== undefined) return callTool(f, h.tool, v, l, pc);
  R.l = 0;
  return h.run(v, l);
}

function callTool(f, name, v, l, pc) {
  const flows = argumentLabels(v[0], l[0]);
  const [promise] = guard(join(l[0], deepLabel(v[0])), () => f(...v));
  const call = calls++;
  write(name, flows, pc || 0);
  const whole = source({ call, part: 0 });
  promises.set(promise, { get: (x) => mark(x, call, whole) });
  promise.catch((e) => noteThrown(e, whole));
  R.l = 0;
  return promise;
}

/** The labels of the parts of a call's arguments, by their paths: keys with a NUL after each. */
function argumentLabels(value, label) {
  const flows = new Map();
  const keep = (path, l) => {
    if (l) flows.set(path, join(flows.get(path), l));
  };
  const visit = (x, l, path, depth) => {
    if (!isObject(x) || depth > 40) return keep(path, isObject(x) ? join(l, deepLabel(x)) : l);
    if (typeof x.toJSON === 'function' || proxies.has(x)) {
      const [, written] = guard(join(l, deepLabel(x)), () => {
        try {
          JSON.stringify(x);
        } catch {}
      });
      return keep(path, written);
    }
    keep(path, join(l, shapeLabel(x)));
    for (const k of Object.keys(x)) {
      const y = R.get(x, l, k, 0);
      visit(y, R.l, path + k + '\0', depth + 1);
    }
  };
  visit(value, label, '', 0);
  return flows;
}

/** The results whose parts have labels of their own. */
const divided = new WeakSet();

/**
 * Labels a result that the script receives. Returns the label of the value itself. What is read from a labelled value has
 * its label, so that the values in it need none.
 */
function mark(value, call, whole) {
  if (!isObject(value)) return whole;
  if (divided.has(value)) return 0;
  const paths = takeParts(value);
  if (paths === undefined) return whole;
  divided.add(value);
  const tree = new Map();
  paths.forEach((path, index) => addPart(tree, path, source({ call, part: index + 1 })));
  markParts(value, tree, whole);
  return 0;
}

function takeParts(value) {
  const last = Array.isArray(value) ? value.at(-1) : value;
  if (!isObject(last) || !hasOwn(last, PARTS)) return undefined;
  const paths = last[PARTS];
  if (last === value) delete value[PARTS];
  else value.pop();
  return paths;
}

function addPart(tree, path, label) {
  let at = tree;
  for (const key of path.slice(0, -1)) {
    if (!(at.get(key) instanceof Map)) at.set(key, new Map());
    at = at.get(key);
  }
  at.set(path.at(-1), label);
}

function markParts(value, tree, rest) {
  shape(value, rest);
  for (const k of Object.keys(value)) {
    const x = value[k],
      part = tree.get(k);
    if (part instanceof Map && isObject(x)) {
      markParts(x, part, rest);
      continue;
    }
    setLabel(value, k, typeof part === 'number' ? part : rest);
  }
}
