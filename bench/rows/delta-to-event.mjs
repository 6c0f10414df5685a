import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { runAgent } from '@toolscript/core/agent';
import { startScriptedServer } from '@toolscript/core/providers';
import { z } from 'zod';
import { APIS } from '../agent/apis.mjs';
import { heardProvider } from '../agent/heard-provider.mjs';
import { alternate } from '../measure.mjs';

/** Scripts are detected in the text, and the text after one is withheld: this is the slowest case for a delta. */
const AGENT = { slug: 'bench', carrier: 'text', afterScript: 'continue' };
const PAUSE_MS = 2;
const TAIL_MS = 2_000;
const TAIL_PIECES = 100;
const NONCE = '123456789';
const CLOSING_TAG = '</tool-calls>';
/** A delta of 16 characters, so each is a separate chunk on the wire. */
const markerOf = (index) => `delta-${String(index).padStart(6, '0')} and`;
const LIMIT = { unit: 'ms', better: 'lower', limit: 50, limitOf: 'p99' };

export const name = 'delta-to-event';
export const ownResult = true;

/**
 * The delay of a run's events after the bytes of a scripted server have arrived over HTTP in this process: of text
 * events, and of a script's first tool call after its closing tag, while the answer continues for two more seconds.
 */
export async function measure({ effort }) {
  const echo = defineTool({
    name: 'echo',
    description: 'Says it again.',
    input: z.object({ n: z.number() }),
    output: z.object({ n: z.number() }),
    approval: 'never',
    effect: 'read',
    execute: ({ n }) => ({ n }),
  });
  const harness = createHarness({ tools: [echo], approvals: 'deny' });
  try {
    await harness.warm();
    const rows = [];
    for (const { api, short } of APIS) rows.push(await deltaRow(api, short, harness, effort));
    // Counts the scripts of all rows, so that every script is new: compiled code is cached for all formats.
    let scripts = 0;
    const nextScript = () => sourceOf(++scripts);
    for (const { api, short } of APIS) rows.push(await tagRow(api, short, harness, nextScript, effort));
    return rows;
  } finally {
    await harness.close();
  }
}

function deltaRow(api, short, harness, effort) {
  const row = {
    name: `delta-to-event-${short}`,
    title: `bytes of a text delta arrived to its event out of runAgent, ${api}`,
    ...LIMIT,
    notes: [`a delta of 16 characters every ${PAUSE_MS} ms, scripts looked for in the text`],
  };
  return alternate(
    row,
    ours(() => timeDeltas(api, harness, effort.deltas)),
    effort.heavyRounds,
  );
}

/** The time in ms between the arrival of each delta and its event. */
async function timeDeltas(api, harness, count) {
  const markers = Array.from({ length: count }, (_, index) => markerOf(index));
  const parts = markers.flatMap((text) => [
    { type: 'text', text },
    { type: 'wait', ms: PAUSE_MS },
  ]);
  const arrived = new MarkerTimes(markers);
  const told = new MarkerTimes(markers);
  const status = await playOnce(api, harness, parts, arrived.hear, (payload) => {
    if (payload.type === 'item_delta') told.hear(payload.delta, performance.now());
  });
  assert.equal(status, 'completed');
  return told.after(arrived);
}

/** Finds the time at which each of some texts first appeared in a text that arrives in chunks. */
class MarkerTimes {
  #markers;
  #times = [];
  #text = '';

  constructor(markers) {
    this.#markers = markers;
  }

  hear = (text, atMs) => {
    this.#text += text;
    for (let marker; (marker = this.#markers[this.#times.length]) !== undefined;) {
      const at = this.#text.indexOf(marker);
      if (at === -1) return;
      this.#text = this.#text.slice(at + marker.length);
      this.#times.push(atMs);
    }
  };

  after(earlier) {
    assert.equal(earlier.#times.length, this.#markers.length, 'not every delta arrived');
    assert.equal(this.#times.length, this.#markers.length, 'not every delta was told');
    return this.#times.map((time, index) => time - earlier.#times[index]);
  }
}

async function tagRow(api, short, harness, nextScript, effort) {
  const row = {
    name: `tag-to-call-${short}`,
    title: `bytes of a script's closing tag arrived to its first tool_call_start, ${api}`,
    ...LIMIT,
    notes: [
      `a script of five lines never seen before: found, checked, compiled and begun, with ${TAIL_MS / 1_000} s of answer to come behind it`,
    ],
  };
  const block = async () => {
    const samples = [];
    for (let index = 0; index < effort.tags; index++) samples.push(await timeTag(api, harness, nextScript()));
    return samples;
  };
  await playWholeTail(api, harness, nextScript());
  await block();
  return alternate(row, ours(block), effort.heavyRounds);
}

/** Ends the run as soon as the script has made its call. The answer must not have ended before. */
async function timeTag(api, harness, source) {
  let arrivedMs;
  let calledMs;
  const hear = (text, atMs) => {
    if (text.includes(CLOSING_TAG)) arrivedMs ??= atMs;
  };
  const status = await playOnce(api, harness, answerWithTail(source), hear, (payload) => {
    if (payload.type !== 'tool_call_start') return true;
    calledMs = performance.now();
    return false;
  });
  assert.equal(status, undefined, 'the answer was over before the script began');
  return calledMs - arrivedMs;
}

/** One run to its end: nothing of the tail is lost, and the script ran. */
async function playWholeTail(api, harness, source) {
  let text = '';
  let result;
  const status = await playOnce(
    api,
    harness,
    answerWithTail(source),
    () => {},
    (payload) => {
      if (payload.type === 'item_delta') text += payload.delta;
      if (payload.type === 'item_done') result ??= payload.final_item.result;
    },
  );
  assert.equal(status, 'completed');
  assert.equal(result, 3);
  assert.ok(text.includes(markerOf(TAIL_PIECES - 1)), 'the tail was cut off');
}

function sourceOf(variant) {
  return `const first = await tools.echo({ n: 1 });
const second = await tools.echo({ n: 2 });
const script = ${variant};
if (script < 0) throw new Error('never');
return first.n + second.n;`;
}

function answerWithTail(source) {
  const tail = Array.from({ length: TAIL_PIECES }, (_, index) => [
    { type: 'wait', ms: TAIL_MS / TAIL_PIECES },
    { type: 'text', text: markerOf(index) },
  ]);
  return [
    { type: 'text', text: `I add them up.\n\n<tool-calls id="${NONCE}">\n${source}\n` },
    { type: 'text', text: CLOSING_TAG },
    { type: 'text', text: '\n\n' },
    ...tail.flat(),
  ];
}

/**
 * One run over HTTP, with a second answer that ends it. Stops reading if `take` returns false.
 *
 * @returns {Promise<string | undefined>} The final status of the run.
 */
async function playOnce(api, harness, parts, hear, take) {
  const turns = [{ parts }, { parts: [{ type: 'text', text: 'Done.' }] }];
  const server = await startScriptedServer({ turns });
  try {
    const provider = heardProvider(api, server.baseUrl, hear);
    for await (const { payload } of runAgent({ provider, harness, agent: AGENT, nonce: NONCE, input: 'Go.' })) {
      if (take(payload) === false) return undefined;
      if (payload.type === 'response_done') return payload.status;
    }
    return undefined;
  } finally {
    assert.deepEqual(server.violations, []);
    await server.close();
  }
}

function ours(block) {
  return [{ name: 'toolscript', role: 'ours', block }];
}
