import type { SandboxLimits } from '../../protocol/index.js';
import { NO_PLACE, type Place } from './call-sites.js';
import { GuestBreach, parseRecord } from './outbox.js';

/**
 * Supports scripts that a release with version 1 of the protocol suspended. In version 1, the guest counted its calls,
 * and wrote the index and position of each call itself:
 *
 *     3:{"calls":[[2,"add",7,12,7]]}
 *     {"a":1}
 *
 * This function converts the text to version 2, and the host then applies the rules of version 2. Each index must be
 * the next one. The host does not trust the positions, so such calls have no position.
 */
export function upgradeOutbox(
  text: string,
  firstCall: number,
  limits: SandboxLimits,
): { text: string; places: Place[] } {
  const [, mark = '', json = '', args = ''] = /^\d+([:!])([^\n]*)\n([^]*)$/u.exec(text) ?? [];
  const { calls = [], ...said } = parseRecord(json);
  const known = readCalls(calls, args).toSorted((left, right) => left.index - right.index);
  const isNext = known.every(({ index }, position) => index === firstCall + position);
  if (!isNext || firstCall + known.length > limits.maxCalls + limits.maxBuiltinCalls)
    throw new GuestBreach('the guest and the host count the calls differently');
  const entries = known.map(({ entry }) => entry);
  const members = entries.length === 0 ? said : { ...said, calls: entries };
  return {
    text: `${mark}${JSON.stringify(members)}\n${known.map((call) => call.args).join('')}`,
    places: known.map(() => NO_PLACE),
  };
}

function readCalls(calls: unknown, args: string): { index: number; entry: unknown[]; args: string }[] {
  if (!Array.isArray(calls)) throw new GuestBreach('the calls are not a list');
  let from = 0;
  return calls.map((call: unknown) => {
    const [index, name, , , length, ...problem] = Array.isArray(call) ? (call as unknown[]) : [];
    if (typeof index !== 'number' || typeof length !== 'number')
      throw new GuestBreach('the message has an invalid call');
    const text = args.slice(from, from + length);
    from += length;
    return { index, entry: [name, length, ...problem], args: text };
  });
}
