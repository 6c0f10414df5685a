import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { runAgent } from '@toolscript/core/agent';
import { z } from 'zod';
import { APIS } from '../agent/apis.mjs';
import { recordModel } from '../agent/replayed-model.mjs';
import { alternate } from '../measure.mjs';

const TURNS = 20;
const MANY_TURNS = 100;
/** Characters that a result adds to the history. */
const RESULT_LENGTH = 1_000;
const QUESTION = 'Look up every part.';

const KINDS = [
  {
    kind: 'script',
    what: 'one script',
    part: (n) => ({ type: 'script', code: sourceOf(n) }),
    mode: 'enabled',
    alone: async (harness, n) => (await harness.runScript(sourceOf(n))).value,
    limit: 5,
  },
  {
    kind: 'call',
    what: 'one structured call',
    part: (n) => ({ type: 'call', name: 'lookUp', arguments: { n } }),
    mode: 'disabled',
    alone: async (harness, n) => (await harness.callTool('lookUp', { n })).result,
    limit: 5,
  },
];

export const name = 'turn-overhead';
export const ownResult = true;

/**
 * The cost of a turn without the model: a request is encoded, its answer is decoded, its calls run, and the
 * conversation grows by the results. The model's answers are played from memory.
 */
export async function measure({ effort }) {
  const lookUp = defineTool({
    name: 'lookUp',
    description: 'What is known of a part.',
    input: z.object({ n: z.number() }),
    output: z.object({ n: z.number(), text: z.string() }),
    approval: 'never',
    effect: 'read',
    execute: resultOf,
  });
  const harness = createHarness({ tools: [lookUp], approvals: 'deny' });
  try {
    await harness.warm();
    const rows = [];
    for (const kind of KINDS)
      for (const { api, short } of APIS) rows.push(await overheadRow(kind, api, short, harness, effort));
    for (const { api, short } of APIS) rows.push(await growthRow(KINDS[1], api, short, harness, effort));
    return rows;
  } finally {
    await harness.close();
  }
}

async function overheadRow({ kind, what, part, mode, alone, limit }, api, short, harness, effort) {
  const few = await runOf(TURNS, { part, mode, api, harness });
  const many = await runOf(MANY_TURNS, { part, mode, api, harness });
  const row = {
    name: `turn-overhead-${kind}-${short}`,
    title: `a turn of ${what}, of a run of ${TURNS} turns, without the model, ${api}`,
    unit: 'ms',
    better: 'lower',
    limit,
    notes: [
      `each result adds ${RESULT_LENGTH} characters to the history; scripts were compiled before`,
      `${MANY_TURNS} turns: a turn of a run that is five times as long; alone: what it asks for, without agent and provider`,
    ],
  };
  const done = async () => {
    const began = performance.now();
    for (let n = 0; n < TURNS - 1; n++) assert.deepEqual(await alone(harness, n), resultOf({ n }));
    return (performance.now() - began) / TURNS;
  };
  const entries = [
    { name: 'toolscript', role: 'ours', block: () => samplesOf(few, effort.blockMs) },
    { name: `${MANY_TURNS} turns`, role: 'baseline', block: () => samplesOf(many, effort.blockMs) },
    { name: 'alone', role: 'baseline', block: () => samplesOf(done, effort.blockMs) },
  ];
  for (const { block } of entries) await block();
  return alternate(row, entries, effort.heavyRounds);
}

/** A turn with five times the history may cost five times as much. Any further growth is a fault. */
async function growthRow({ kind, part, mode }, api, short, harness, effort) {
  const few = await runOf(TURNS, { part, mode, api, harness });
  const many = await runOf(MANY_TURNS, { part, mode, api, harness });
  const row = {
    name: `turn-growth-${kind}-${short}`,
    title: `a turn of a run of ${MANY_TURNS} turns, over a turn of a run of ${TURNS}, ${api}`,
    unit: '×',
    better: 'lower',
    limit: MANY_TURNS / TURNS,
    selfRatio: true,
  };
  const fastest = async (timed) => Math.min(await timed(), await timed(), await timed());
  const block = async () => [(await fastest(many)) / (await fastest(few))];
  return alternate(row, [{ name: 'toolscript', role: 'ours', block }], effort.heavyRounds);
}

/** Plays one run of this number of turns. Returns the ms of each turn. */
async function runOf(turns, { part, mode, api, harness }) {
  const scenario = {
    turns: [
      ...Array.from({ length: turns - 1 }, (_, n) => ({ parts: [part(n)] })),
      { parts: [{ type: 'text', text: 'That is all.' }] },
    ],
  };
  const play = (provider) => playRun(provider, harness, mode, turns);
  const makeProvider = await recordModel(api, scenario, play);
  return async () => {
    const provider = makeProvider();
    const began = performance.now();
    await play(provider);
    return (performance.now() - began) / turns;
  };
}

async function samplesOf(timed, forMs) {
  const samples = [];
  for (const until = performance.now() + forMs; performance.now() < until || samples.length === 0;)
    samples.push(await timed());
  return samples;
}

/** Counts every result, so that a run that lost one fails. */
async function playRun(provider, harness, mode, turns) {
  const agent = { slug: 'bench', mode, maxTurns: turns };
  let results = 0;
  let status;
  for await (const { payload } of runAgent({ provider, harness, agent, input: QUESTION, threadId: 'bench' })) {
    if (payload.type === 'response_done') status = payload.status;
    if (payload.type !== 'item_done') continue;
    const { type, output, report = output } = payload.final_item;
    if (type.endsWith('_output') && report.includes(resultOf({ n: results }).text)) results++;
  }
  assert.equal(status, 'completed');
  assert.equal(results, turns - 1, 'a result was lost');
}

function sourceOf(n) {
  return `const part = await tools.lookUp({ n: ${n} });\nreturn { n: part.n, text: part.text };`;
}

function resultOf({ n }) {
  return { n, text: `Part ${n} is well known. `.repeat(RESULT_LENGTH).slice(0, RESULT_LENGTH) };
}
