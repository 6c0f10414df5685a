import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const PARTS = ['artefacts', 'bin', 'bundle', 'package.json', 'type-library'];

/** The program as it is installed, in a folder of its own. */
let installed: string;
let cache: string;

beforeAll(() => {
  installed = mkdtempSync(join(tmpdir(), 'toolscript-start-'));
  for (const part of PARTS)
    cpSync(join(PACKAGE, part), join(installed, part), { recursive: true, filter: (path) => !path.includes('/cache') });
  symlinkSync(join(PACKAGE, '../../node_modules'), join(installed, 'node_modules'));
  cache = join(installed, 'bundle/cache');
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

function keptFiles(): string[] {
  return readdirSync(cache, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.bin'))
    .toSorted()
    .map((name) => join(cache, name));
}

function isWhole(file: string): boolean {
  const bytes = readFileSync(file);
  return createHash('sha256').update(bytes.subarray(32)).digest().equals(bytes.subarray(0, 32));
}

function flipBit(file: string): void {
  const bytes = readFileSync(file);
  const middle = bytes.length >> 1;
  bytes[middle]! ^= 4;
  writeFileSync(file, bytes);
}

const works = { status: 0, stdout: expect.stringContaining('42') as string, stderr: '' };

describe('what V8 made of the program’s files', () => {
  it('is kept by the first command, whole, and read by the next', () => {
    expect(start()).toEqual(works);
    const first = keptFiles().map((file) => [file, readFileSync(file)] as const);
    expect(first.length).toBeGreaterThan(5);
    expect(start()).toEqual(works);
    expect(keptFiles().map((file) => [file, readFileSync(file)])).toEqual(first);
  });

  it.each<[string, (file: string) => void]>([
    ['is of something else', (file) => writeFileSync(file, 'not what V8 wrote')],
    ['is empty', (file) => writeFileSync(file, '')],
    ['is cut off', (file) => truncateSync(file, 1000)],
    ['is damaged in its middle', (file) => writeFileSync(file, readFileSync(file).fill(0, 1_000, 2_000))],
    ['has one wrong bit', flipBit],
  ])('changes nothing where it %s, and is made again', (_name, spoil) => {
    start();
    for (const file of keptFiles()) spoil(file);
    expect(start()).toEqual(works);
    expect(keptFiles().every(isWhole)).toBe(true);
  });

  it('is kept for each kind of flags by itself', () => {
    start({ NODE_OPTIONS: '--max-old-space-size=4096' });
    start();
    const folders = readdirSync(cache);
    expect(folders).toHaveLength(2);
    const times = keptFiles().map((file) => statSync(file).mtimeMs);
    start({ NODE_OPTIONS: '--max-old-space-size=4096' });
    start();
    expect(keptFiles().map((file) => statSync(file).mtimeMs)).toEqual(times);
  });

  it('leaves no unfinished file where one cannot be put in its place, and keeps the others', () => {
    start();
    const [first, ...others] = keptFiles();
    for (const file of [first!, ...others]) rmSync(file);
    mkdirSync(join(first!, 'in the way'), { recursive: true });
    expect(start()).toEqual(works);
    expect(others.every((file) => existsSync(file))).toBe(true);
    const all = readdirSync(cache, { recursive: true, encoding: 'utf8' });
    expect(all.filter((name) => /\.bin\.\d+$/u.test(name))).toEqual([]);
  });

  it('changes nothing where it cannot be kept', () => {
    writeFileSync(cache, 'a file, no folder');
    expect(start()).toEqual(works);
  });

  it('is made for one build, one V8 and one kind of machine', () => {
    start();
    const [name] = readdirSync(cache);
    expect(name).toMatch(new RegExp(`^[0-9a-f]{16}-[0-9a-f]+-${process.arch}$`, 'u'));
  });
});
