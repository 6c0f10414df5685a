// The file race: while another process swaps folders and files of a workspace for links and names that lead out, the
// tools read, write, list, search and patch there. See scripts/race.mjs. Prints one JSON line: `escapes` must be 0.
import { fork } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile as readPlainly } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codingTools } from '@toolscript/tools';

/** Swaps and tool calls that are made at least; a call takes as long as many swaps. */
const minSwaps = Number(process.argv[2] ?? 100_000);
const minCalls = Number(process.argv[3] ?? minSwaps);
/** The number of concurrent calls. */
const WAVE = 40;
const SECRET = 'SECRET of the folder outside';
const OUTSIDE_NAME = 'name-that-only-exists-outside.txt';
const OUTSIDE_WIDTH = 77;

const parent = realpathSync(mkdtempSync(join(tmpdir(), 'toolscript-race-')));
const [inside, outside] = [join(parent, 'inside'), join(parent, 'outside')];
const tools = new Map(codingTools({ roots: makeFolders() }).map((tool) => [tool.name, tool]));

/** One PNG header is enough: the tool reads no pixels. */
function png(width) {
  const bytes = Buffer.alloc(33);
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(1, 20);
  return bytes;
}

function makeFolders() {
  for (const [folder, text, width] of [
    [join(inside, 'slot'), 'harmless', 1],
    [outside, SECRET, OUTSIDE_WIDTH],
  ]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'victim.txt'), text);
    writeFileSync(join(folder, 'victim.png'), png(width));
  }
  writeFileSync(join(outside, OUTSIDE_NAME), SECRET);
  writeFileSync(join(inside, 'own.txt'), 'harmless');
  symlinkSync(join(inside, 'own.txt'), join(inside, 'file-slot'));
  return inside;
}

const patch = '*** Begin Patch\n*** Update File: slot/victim.txt\n@@\n-harmless\n+harmless\n*** End Patch';

/** Each runs as often as its speed allows: searches start a process. */
const CALLS = [
  ...repeated(8, () => ['readFile', { path: 'slot/victim.txt' }]),
  ...repeated(8, () => ['readFile', { path: 'file-slot' }]),
  ...repeated(3, () => ['viewImage', { path: 'slot/victim.png' }]),
  ...repeated(3, () => ['listDir', { path: 'slot' }]),
  ...repeated(2, () => ['listDir', {}]),
  ...repeated(3, () => ['writeFile', { path: 'slot/victim.txt', content: 'harmless' }]),
  ...repeated(2, () => ['writeFile', { path: 'file-slot', content: 'harmless' }]),
  ...repeated(2, (index) => ['writeFile', { path: `slot/new-${index % 50}/file.txt`, content: 'x' }]),
  ...repeated(2, () => ['applyPatch', { patch }]),
];
const SEARCHES = [
  ['grepFiles', { pattern: 'SECRET|harmless', matches: true, context: 1 }],
  ['grepFiles', { pattern: 'SECRET', path: 'slot' }],
  ['fileSearch', { pattern: 'txt' }],
  ['fileSearch', { pattern: 'name', path: 'slot' }],
];

function repeated(times, make) {
  return Array.from({ length: times }, () => make);
}

const totals = { swaps: 0, calls: 0, succeeded: 0, refused: 0, escapes: 0, caughtControl: 0 };

async function call([name, input]) {
  const tool = tools.get(name);
  const valid = tool.validateInput(input);
  if (!valid.ok) throw new TypeError(`${name} does not know its own arguments`);
  totals.calls += 1;
  try {
    look(await tool.execute(valid.value, { signal: new AbortController().signal }));
    totals.succeeded += 1;
  } catch (error) {
    if (error?.name !== 'ToolExecutionError' && error?.code !== 'ToolExecutionError') throw error;
    look(error.message);
    totals.refused += 1;
  }
}

function look(result) {
  const text = JSON.stringify(result);
  if (text.includes(SECRET) || text.includes(OUTSIDE_NAME) || text.includes(`"width":${OUTSIDE_WIDTH},`))
    totals.escapes += 1;
}

/** The same race with code that checks a path and then uses it: it must fail, or the race proves nothing. */
async function control() {
  const path = join(inside, 'file-slot');
  try {
    if (!realpathSync(path).startsWith(`${inside}/`)) return;
    if ((await readPlainly(path, 'utf8')) === SECRET) totals.caughtControl += 1;
  } catch {
    // Missing for a moment.
  }
}

function outsideNow() {
  return JSON.stringify(
    readdirSync(outside).map((name) => [name, readFileSync(join(outside, name)).toString('latin1')]),
  );
}

function isEnough({ swaps, calls, caughtControl, succeeded, refused }) {
  return swaps >= minSwaps && calls >= minCalls && Math.min(caughtControl, succeeded, refused) > 0;
}

const before = outsideNow();
const swapper = fork(fileURLToPath(new URL('../support/swapper.mjs', import.meta.url)), [inside, outside]);
await new Promise((resolve) => swapper.once('message', resolve));
swapper.on('message', (message) => (totals.swaps = message.swaps));
const began = performance.now();
try {
  for (let wave = 0; !isEnough(totals); wave += 1) {
    const calls = Array.from({ length: WAVE }, (_, index) => CALLS[(wave * WAVE + index) % CALLS.length](wave));
    if (wave % 25 === 0) calls.push(...SEARCHES);
    await Promise.all([...calls.map(call), control()]);
    // The clock of an endless race: a machine where the control never loses cannot show anything.
    if (performance.now() - began > 600_000)
      throw new Error('the race did not end within 10 minutes; repeat it on an idle machine');
  }
} finally {
  swapper.kill('SIGKILL');
}
if (outsideNow() !== before) totals.escapes += 1;
rmSync(parent, { recursive: true, force: true });
console.log(JSON.stringify({ ...totals, seconds: Math.round((performance.now() - began) / 100) / 10 }));
process.exitCode = totals.escapes === 0 && totals.succeeded > 0 && totals.refused > 0 ? 0 : 1;
