import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
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

function start(): { status: number | null; stdout: string; stderr: string } {
  const entry = join(installed, 'bin/toolscript.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, 'eval', '-e', 'return 40 + 2'], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

function keptFiles(): string[] {
  return readdirSync(cache, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.bin'))
    .map((name) => join(cache, name));
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
  ])('changes nothing where it %s', (_name, spoil) => {
    start();
    for (const file of keptFiles()) spoil(file);
    expect(start()).toEqual(works);
  });

  it('changes nothing where it cannot be kept', () => {
    writeFileSync(cache, 'a file, no folder');
    expect(start()).toEqual(works);
  });

  it('is made for one build, one V8 and one kind of machine', () => {
    start();
    const [name] = readdirSync(cache);
    expect(name).toMatch(/^[0-9a-f]{16}-/u);
    expect(name).toContain(`-${process.versions.v8}-${process.arch}`);
  });
});
