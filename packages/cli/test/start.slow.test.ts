import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const PARTS = ['bin', 'bundle', 'package.json'];

/** The program as it is installed, in a folder of its own. */
let installed: string;
let cache: string;
/** The cache after the first command. */
let filled: string;

beforeAll(() => {
  installed = mkdtempSync(join(tmpdir(), 'toolscript-start-'));
  for (const part of PARTS)
    cpSync(join(PACKAGE, part), join(installed, part), { recursive: true, filter: (path) => !path.includes('/cache') });
  symlinkSync(join(PACKAGE, '../../node_modules'), join(installed, 'node_modules'));
  cache = join(installed, 'bundle/cache');
  start();
  filled = join(installed, 'filled');
  renameSync(cache, filled);
});

afterAll(() => rmSync(installed, { recursive: true, force: true }));

beforeEach(() => rmSync(cache, { recursive: true, force: true }));

function start(env: Record<string, string> = {}): { status: number | null; stdout: string; stderr: string } {
  const entry = join(installed, 'bin/toolscript.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, 'eval', '-e', 'return 40 + 2'], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { status, stdout, stderr };
}

/** Runs instead of the first command. */
function fillCache(): void {
  cpSync(filled, cache, { recursive: true, preserveTimestamps: true });
}

function keptFiles(): string[] {
  return readdirSync(cache, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.bin'))
    .toSorted()
    .map((name) => join(cache, name));
}

/**
 * A cached file in the program's format: a digest of the folder's name, the file's name and the data, then the data.
 */
function sealed(folder: string, file: string, data: Buffer): Buffer {
  const digest = createHash('sha256')
    .update(`${folder}\n./${basename(file, '.bin')}\n`)
    .update(data)
    .digest();
  return Buffer.concat([digest, data]);
}

function isWhole(file: string): boolean {
  const bytes = readFileSync(file);
  return sealed(basename(dirname(file)), file, bytes.subarray(32)).equals(bytes);
}

/** V8's compiled form of other code with the same length, which V8 accepts for this file. */
function compiledOther(file: string, code: string): Buffer {
  const wrap = (text: string) => `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
  const source = readFileSync(join(installed, 'bundle', basename(file, '.bin')), 'utf8');
  const other = code.padEnd(source.length, ' ');
  const compile = `
    require('node:v8').setFlagsFromString('--wasm-tiering-budget=1000000000');
    const script = new (require('node:vm').Script)(${JSON.stringify(wrap(other))});
    try { script.runInThisContext()(); } catch {}
    process.stdout.write(script.createCachedData());`;
  return spawnSync(process.execPath, ['-'], { input: compile }).stdout;
}

function damageMiddle(file: string): void {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xff, bytes.length >> 1, (bytes.length >> 1) + 100));
}

function flipBit(file: string): void {
  const bytes = readFileSync(file);
  const middle = bytes.length >> 1;
  bytes[middle]! ^= 4;
  writeFileSync(file, bytes);
}

const works = { status: 0, stdout: expect.stringContaining('42') as string, stderr: '' };

describe('V8’s cached code of the program’s files', () => {
  it('is stored completely by the first command, and read by the next', () => {
    expect(start()).toEqual(works);
    const first = keptFiles().map((file) => [file, readFileSync(file)] as const);
    expect(first.length).toBeGreaterThan(5);
    expect(start()).toEqual(works);
    expect(keptFiles().map((file) => [file, readFileSync(file)])).toEqual(first);
  });

  it.each<[string, (file: string) => void]>([
    ['is of something else', (file) => writeFileSync(file, 'not what V8 wrote')],
    ['is empty', (file) => writeFileSync(file, '')],
    ['is cut off', (file) => truncateSync(file, statSync(file).size >> 1)],
    ['is damaged in its middle', damageMiddle],
    ['has one wrong bit', flipBit],
  ])('changes nothing if it %s, and is created again', (_name, spoil) => {
    fillCache();
    for (const file of keptFiles()) spoil(file);
    expect(start()).toEqual(works);
    expect(keptFiles().every(isWhole)).toBe(true);
  });

  it('is valid only for the Node that created it: a cache of another one is never run', () => {
    fillCache();
    const [folder] = readdirSync(cache);
    expect(folder).toContain(`-${process.version}`);
    const other = folder!.replace(process.version, 'v20.0.0');
    for (const file of keptFiles())
      writeFileSync(file, sealed(other, file, compiledOther(file, 'throw new Error("foreign")')));
    expect(start()).toEqual(works);
    expect(keptFiles().every(isWhole)).toBe(true);
  });

  it('never crashes the program: a cache with other content is deleted, and the program starts without it', () => {
    fillCache();
    const [folder] = readdirSync(cache);
    const main = keptFiles().find((file) => file.endsWith('main.cjs.bin'))!;
    const run = keptFiles().find((file) => /eval-[^/]*\.cjs\.bin$/u.test(file))!;
    for (const file of [main, run]) {
      const forged = sealed(folder!, file, compiledOther(file, '[1].join.not()'));
      writeFileSync(file, forged);
      expect(start()).toEqual(works);
      expect(existsSync(file) && readFileSync(file).equals(forged)).toBe(false);
      expect(start()).toEqual(works);
    }
  });

  it('is stored separately for each set of flags', () => {
    start({ NODE_OPTIONS: '--max-old-space-size=4096' });
    start();
    const folders = readdirSync(cache);
    expect(folders).toHaveLength(2);
    const times = keptFiles().map((file) => statSync(file).mtimeMs);
    start({ NODE_OPTIONS: '--max-old-space-size=4096' });
    start();
    expect(keptFiles().map((file) => statSync(file).mtimeMs)).toEqual(times);
  });

  it('leaves no partial file if one cannot be replaced, and keeps the others', () => {
    fillCache();
    const [first, ...others] = keptFiles();
    for (const file of [first!, ...others]) rmSync(file);
    mkdirSync(join(first!, 'in the way'), { recursive: true });
    expect(start()).toEqual(works);
    expect(others.every((file) => existsSync(file))).toBe(true);
    const all = readdirSync(cache, { recursive: true, encoding: 'utf8' });
    expect(all.filter((name) => /\.bin\.\d+$/u.test(name))).toEqual([]);
  });

  it('changes nothing if it cannot be stored', () => {
    writeFileSync(cache, 'a file, no folder');
    expect(start()).toEqual(works);
  });

  it('is specific to one build, one Node, one V8 and one kind of machine', () => {
    fillCache();
    const [name] = readdirSync(cache);
    const version = process.version.replaceAll('.', String.raw`\.`);
    expect(name).toMatch(new RegExp(`^[0-9a-f]{16}-[0-9a-f]+-${process.arch}-[0-9a-f]+-${version}$`, 'u'));
  });
});
