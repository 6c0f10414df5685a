import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyPatch } from '@toolscript/tools';
import { alternate } from '../measure.mjs';

const LINES = 10_000;
const HUNKS = 10;
const PATCHES = 10;

export const name = 'patch';

/** A patch of ten hunks for a file of 10 000 lines: read, matched, written next to the file and renamed over it. */
export async function measure({ effort }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-'));
  try {
    const rows = [];
    for (const [format, patch] of [
      ['Codex format', codexFormat()],
      ['unified diff', unifiedDiff()],
    ]) {
      const row = {
        name: `patch-${format.split(' ')[0].toLowerCase()}`,
        title: `applyPatch: ${HUNKS} hunks in a file of ${LINES} lines, ${format}`,
        unit: 'ms',
        better: 'lower',
        limit: 50,
      };
      const entry = { name: 'toolscript', role: 'ours', block: () => applyAll(folder, patch) };
      rows.push(await alternate(row, [entry], effort.rounds));
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function applyAll(folder, patch) {
  const file = join(folder, 'large.txt');
  const expected = fileText((index) => (isChanged(index) ? `changed ${index}` : undefined));
  const times = [];
  for (let count = 0; count < PATCHES; count++) {
    writeFileSync(
      file,
      fileText(() => undefined),
    );
    const began = performance.now();
    const result = await applyPatch(patch, { root: folder });
    times.push(performance.now() - began);
    assert.equal(result.changes[0].added, HUNKS);
    assert.equal(readFileSync(file, 'utf8'), expected, 'the patch made something else of the file');
  }
  return times;
}

function fileText(change) {
  return Array.from({ length: LINES }, (_, index) => `${change(index) ?? lineOf(index)}\n`).join('');
}

function lineOf(index) {
  return `  const value${index} = compute(${index % 7}); // ${index}`;
}

/** True for a changed line. The changes are evenly spread, and the last one is near the end. */
function isChanged(index) {
  return index % (LINES / HUNKS) === LINES / HUNKS - 10;
}

function changedLines() {
  return Array.from({ length: LINES }, (_, index) => index).filter(isChanged);
}

function hunkLines(index) {
  const kept = (from) => [0, 1, 2].map((offset) => ` ${lineOf(from + offset)}`);
  return [...kept(index - 3), `-${lineOf(index)}`, `+changed ${index}`, ...kept(index + 1)];
}

function codexFormat() {
  const hunks = changedLines().flatMap((index) => ['@@', ...hunkLines(index)]);
  return ['*** Begin Patch', '*** Update File: large.txt', ...hunks, '*** End Patch'].join('\n');
}

/** A diff whose line numbers are all off by twelve, as after a change further up. */
function unifiedDiff() {
  const hunks = changedLines().flatMap((index) => [`@@ -${index - 14},7 +${index - 14},7 @@`, ...hunkLines(index)]);
  return ['--- a/large.txt', '+++ b/large.txt', ...hunks, ''].join('\n');
}
