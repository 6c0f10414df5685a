import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { summarise, timesBetter } from './statistics.mjs';

/**
 * One column of a row.
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {'ours' | 'part' | 'peer' | 'baseline'} role
 * @property {string} [version]
 * @property {() => Promise<number[]> | number[]} block Measures a block: its samples, in the row's unit.
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {string} title
 * @property {string} unit
 * @property {'lower' | 'higher'} better
 * @property {number} [limit] The budget for the median of Toolscript.
 * @property {'median' | 'p99'} [limitOf] The value that the budget limits instead.
 * @property {Record<string, number>} [atLeast] The minimum factor by which Toolscript must be better than a peer.
 * @property {boolean} [selfRatio] The other side is Toolscript too: the budget is a ratio, and no library is missing.
 * @property {string[]} [notes]
 * @property {string[][][]} [tables] Printed below it, each with its header first.
 */

/**
 * Measures blocks of all entries in turn, A B C A B C …. Each round starts with a different entry.
 *
 * @param {Row} row
 * @param {Entry[]} entries
 * @param {number} rounds
 */
export async function alternate(row, entries, rounds) {
  const blocks = entries.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < entries.length; turn++) {
      const index = (round + turn) % entries.length;
      const samples = await entries[index].block();
      assert.ok(samples.length > 0, `${entries[index].name} measured nothing`);
      blocks[index].push(samples);
    }
  }
  return rowResult(row, entries, blocks);
}

/** A row whose subject cannot run on this machine. */
export function absentRow(row, reason) {
  return { ...row, absent: reason, figures: [], ratios: [] };
}

function rowResult(row, entries, blocks) {
  const figures = entries.map(({ name, role, version }, index) => ({
    name,
    role,
    version,
    ...summarise(blocks[index], row.better),
  }));
  const ours = entries.findIndex(({ role }) => role === 'ours');
  const ratios = entries.flatMap(({ name, role }, index) => {
    if (index === ours || ours < 0) return [];
    const times = timesBetter(blocks[ours], blocks[index], row.better);
    const atLeast = role === 'peer' ? row.atLeast?.[name] : undefined;
    return [{ name, times, ...(atLeast === undefined ? {} : { atLeast, holds: times >= atLeast }) }];
  });
  const budget =
    row.limit === undefined || ours < 0 ? undefined : { limit: row.limit, holds: isWithin(figures[ours], row) };
  return { ...row, figures, ratios, ...(budget === undefined ? {} : { budget }) };
}

function isWithin(figure, { limit, limitOf = 'median', better }) {
  const value = figure[limitOf];
  return better === 'lower' ? value <= limit : value >= limit;
}

/**
 * Runs `work` repeatedly and times each run. The answer of every run is compared, outside the timing.
 *
 * @param {() => Promise<unknown>} work
 * @param {unknown} answer
 * @param {{ forMs: number, atMost?: number, paceMs?: number, perSample?: number }} effort `perSample`: the divisor
 * of one time; `paceMs`: the interval between two runs, in ms.
 */
export async function timeRuns(work, answer, { forMs, atMost = Number.POSITIVE_INFINITY, paceMs, perSample = 1 }) {
  const samples = [];
  const began = performance.now();
  while (samples.length < atMost && (samples.length === 0 || performance.now() - began < forMs)) {
    if (paceMs !== undefined) await sleep(paceMs);
    const start = performance.now();
    const value = await work();
    samples.push((performance.now() - start) / perSample);
    assert.deepEqual(value, answer, 'a wrong answer was timed');
  }
  return samples;
}

/** Runs without recording times, until code is compiled and caches are filled. */
export async function warmUp(work, answer, forMs) {
  await timeRuns(work, answer, { forMs });
}
