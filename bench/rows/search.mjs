import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codingTools } from '../../packages/tools/dist/index.js';
import { ripgrepPath } from '../../packages/tools/dist/search/ripgrep.js';
import { alternate } from '../measure.mjs';

const FILES = 20_000;
const FILES_A_FOLDER = 20;
/** One file in this number contains the word of the search. */
const NEEDLE_EVERY = 100;
const WORDS = ['user', 'order', 'invoice', 'client', 'server', 'cache', 'queue', 'token', 'parser', 'router'];
const PATTERN = 'needle_[0-9]+';
/** A list is cached only if all entries in the tree are older than the clock of the file system can distinguish. */
const SETTLE_MS = 200;

export const name = 'search';

/** grepFiles and fileSearch on 20 000 files, compared with the program that both use. */
export async function measure({ effort }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-search-'));
  try {
    makeTree(folder);
    await sleep(SETTLE_MS);
    const program = await ripgrepPath();
    const tools = new Map(codingTools({ roots: folder, exec: false }).map((tool) => [tool.name, tool]));
    return [
      await grepRow(folder, program, tools.get('grepFiles'), effort),
      await nameRow(folder, program, tools.get('fileSearch'), effort),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function grepRow(folder, program, tool, effort) {
  const row = {
    name: 'grep-20000-files',
    title: `a regular expression in ${FILES} files, ${FILES / NEEDLE_EVERY} of them match`,
    unit: 'ms',
    better: 'lower',
    notes: ['ours reads each match again from a verified file; ripgrep prints and forgets'],
  };
  const input = { pattern: PATTERN, limit: 2_000, matches: true };
  const ours = async () => {
    const { matches } = await call(tool, input);
    assert.equal(matches.length, FILES / NEEDLE_EVERY, 'grepFiles found something else');
  };
  const plain = async () => {
    const text = await run(
      program,
      ['--no-config', '--no-require-git', '--line-number', '--column', '-e', PATTERN, '--', '.'],
      folder,
    );
    assert.equal(text.trim().split('\n').length, FILES / NEEDLE_EVERY, 'ripgrep found something else');
  };
  return alternate(row, entries(ours, plain), effort.heavyRounds);
}

function nameRow(folder, program, tool, effort) {
  const row = {
    name: 'file-search-20000-files',
    title: `a fuzzy search among ${FILES} names, the list remembered`,
    unit: 'ms',
    better: 'lower',
    limit: 30,
    notes: ['ripgrep only lists the names: what a search costs where nothing is remembered, without the ranking'],
  };
  const ours = async () => {
    const { files } = await call(tool, { pattern: 'tokenparser7', limit: 50 });
    assert.ok(files[0].path.includes('tokenparser7'), 'fileSearch found something else');
  };
  const plain = async () => {
    const text = await run(program, ['--no-config', '--no-require-git', '--files', '.'], folder);
    assert.equal(text.trim().split('\n').length, FILES, 'ripgrep listed something else');
  };
  return alternate(row, entries(ours, plain), effort.heavyRounds);
}

function entries(ours, plain) {
  return [
    { name: 'toolscript', role: 'ours', block: () => timed(ours) },
    { name: 'ripgrep', role: 'baseline', block: () => timed(plain) },
  ];
}

/** The first run of a block is not counted: it loads the caches that the other column has replaced. */
async function timed(work) {
  const samples = [];
  for (let index = 0; index < 4; index++) {
    const began = performance.now();
    await work();
    if (index > 0) samples.push(performance.now() - began);
  }
  return samples;
}

async function call(tool, input) {
  const valid = tool.validateInput(input);
  assert.ok(valid.ok, `${tool.name} does not know these arguments`);
  return tool.execute(valid.value, { signal: new AbortController().signal });
}

function run(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.on('error', reject);
    child.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

/** Folders of two levels with small source files; a part of them is ignored. */
function makeTree(folder) {
  for (let index = 0; index < FILES; index++) {
    const group = Math.floor(index / FILES_A_FOLDER);
    const place = join(folder, `${WORDS[group % 10]}-${group % 50}`, `${WORDS[(group * 3) % 10]}${group}`);
    if (index % FILES_A_FOLDER === 0) mkdirSync(place, { recursive: true });
    const name = `${WORDS[index % 10]}${WORDS[(index * 7 + group) % 10]}${index % FILES_A_FOLDER}.ts`;
    writeFileSync(join(place, name), sourceText(index));
  }
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist', 'bundle.js'), 'needle_1\n');
  writeFileSync(join(folder, '.gitignore'), 'dist/\n');
}

function sourceText(index) {
  const lines = Array.from(
    { length: 30 },
    (_, line) => `export const value${index}_${line} = ${index * line}; // plain`,
  );
  if (index % NEEDLE_EVERY === 0) lines.push(`// needle_${index}`);
  return `${lines.join('\n')}\n`;
}
