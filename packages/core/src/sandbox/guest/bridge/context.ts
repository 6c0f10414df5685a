import { defineProperty, freeze, parse } from '../primordials.js';
import { nameMembers } from '../standard-library/define.js';
import { askHost } from './host.js';
import { deepFreeze } from './json.js';
import { emitProgress } from './output.js';

freeze(nameMembers({ emitProgress }).emitProgress);

let context: object | undefined;

/** Returns the context. The first read creates it, because most scripts never read it. */
export const readContext = (): object => (context ??= makeContext());

export function dropContext(): void {
  context = undefined;
}

function makeContext(): object {
  const made = parse(askHost('context')) as { telemetry?: unknown };
  const { telemetry: given } = made;
  const telemetry = typeof given === 'object' && given !== null ? given : {};
  // `emitProgress` is not enumerable, because the context is data that a script may return or pass on.
  defineProperty(telemetry, 'emitProgress', { value: emitProgress, enumerable: false });
  defineProperty(made, 'telemetry', { value: telemetry, enumerable: true });
  defineProperty(made, 'emitProgress', { value: emitProgress, enumerable: false });
  return deepFreeze(made);
}
