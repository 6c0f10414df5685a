import assert from 'node:assert/strict';
import { createDetector } from '../../packages/core/dist/script/detect/detector.js';
import { alternate } from '../measure.mjs';
import { fiftyLines } from './fifty-lines.mjs';

const DELTA = 16;
const PARAGRAPH = `The configuration is read once when the process starts, and every later change needs a restart; that is
less work than it sounds, because a restart takes a tenth of a second. Use \`npm start\` for it. Two things
are worth knowing: a < b is compared as text, and "quotes" stay as they are.

- first the folder of the person,
- then the folder of the project, once it is trusted.

`;

export const name = 'detector';

/** A long answer in chunks of 16 bytes, pushed one after the other. */
export async function measure({ effort }) {
  const prose = textOf(effort.textBytes, () => PARAGRAPH);
  const mixed = textOf(effort.textBytes, (index) =>
    index % 8 === 0 ? `<tool-calls>\n${fiftyLines(index)}</tool-calls>\n\n` : PARAGRAPH,
  );
  const double = textOf(2 * effort.textBytes, () => PARAGRAPH);
  const speed = (row, answer) =>
    alternate({ ...row, unit: 'MB/s', better: 'higher', limit: 200 }, [speedEntry(answer)], effort.rounds);
  detectAll(double);
  detectAll(mixed);
  return [
    await speed({ name: 'detector-prose', title: `prose in pieces of ${DELTA} bytes` }, prose),
    await speed(
      { name: 'detector-scripts', title: `prose with scripts of 50 lines in it, in pieces of ${DELTA} bytes` },
      mixed,
    ),
    await linearRow(prose, double, effort.rounds),
  ];
}

function speedEntry(answer) {
  return {
    name: 'toolscript',
    role: 'ours',
    block: () => [answer.text.length / 1e6 / (detectAll(answer) / 1_000)],
  };
}

/** Compares the detector with itself: twice the text may need little more than twice the time. */
function linearRow(single, double, rounds) {
  const row = {
    name: 'detector-linear',
    title: 'time for twice the text, over the time for the text',
    unit: '×',
    better: 'lower',
    limit: 2.5,
    selfRatio: true,
  };
  const block = () => [fastest(double) / fastest(single)];
  return alternate(row, [{ name: 'toolscript', role: 'ours', block }], rounds);
}

/** The minimum of a few runs, because disturbances only make a run slower. */
function fastest(answer) {
  return Math.min(...Array.from({ length: 3 }, () => detectAll(answer)));
}

function textOf(bytes, part) {
  let text = '';
  let scripts = 0;
  for (let index = 0; text.length < bytes; index++) {
    const next = part(index);
    if (next.startsWith('<tool-calls>')) scripts++;
    text += next;
  }
  const deltas = [];
  for (let at = 0; at < text.length; at += DELTA) deltas.push(Buffer.from(text.slice(at, at + DELTA)).toString());
  return { text, deltas, scripts };
}

/** The time in ms. The output must contain every byte and every script. */
function detectAll({ text, deltas, scripts }) {
  const segments = [];
  const keep = (events) => {
    for (const event of events) if (event.type === 'segment') segments.push(event.segment);
  };
  const detector = createDetector();
  const began = performance.now();
  for (const delta of deltas) keep(detector.push(delta));
  keep(detector.end());
  const tookMs = performance.now() - began;
  assert.equal(segments.filter(({ type }) => type === 'script').length, scripts, 'not every script was found');
  assert.ok(segments.map(({ raw }) => raw).join('') === text, 'the segments are not the text');
  return tookMs;
}
