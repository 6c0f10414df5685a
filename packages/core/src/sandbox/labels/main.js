import { now, sourcesOf } from './labels.js';
import { R } from './registers.js';
import { connectHost } from './tools.js';

/**
 * Returns a function that starts a rewritten script, and reports the labels of its calls through the guest's output: one
 * line each, after `mark`, which no script knows. `make` receives the functions that the rewritten script calls.
 */
export default function startWithLabels(start) {
  return ([mark, make]) => {
    const { tools, console, performance, sleep, text, setTimeout, setInterval } = globalThis;
    connectHost({ tools, console, performance, sleep, text, setTimeout, setInterval }, (name, flows, pc) => {
      if (now.isBroken) return;
      const lists = [...flows].map(([path, label]) => [path, sourcesOf(label)]);
      text('\n' + mark + JSON.stringify([name, lists, sourcesOf(pc)]));
    });
    return start(make(R));
  };
}
