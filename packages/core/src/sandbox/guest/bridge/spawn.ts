// Creates `tools.spawn`, which starts detached tasks.
import { freeze } from '../primordials.js';
import { indexOfLastCall, send } from './calls.js';
import { toText } from './captured.js';

/** Creates the namespace `tools.spawn`. `taskPrefix`: the prefix of the tasks' ids. */
export function makeSpawn(taskPrefix: string): object {
  const ask = (what: string, id?: string) => send('"$tasks"', { what, id }, true);
  const exec = (name: unknown, args: unknown): object => {
    const request = { name: toText(name), args: args === undefined ? {} : args };
    const done = send('"$spawn"', request);
    const index = indexOfLastCall(done);
    const id = index === undefined ? '' : taskPrefix + index;
    return freeze({ id, done, cancel: freeze(() => ask('cancel', id)) });
  };
  return freeze({
    __proto__: null,
    exec: freeze(exec),
    list: freeze(() => ask('list')),
    read: freeze((id: unknown) => ask('read', toText(id))),
    wait: freeze((id: unknown) => ask('wait', toText(id))),
    cancel: freeze((id: unknown) => ask('cancel', toText(id))),
  });
}
