import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import type { TypecheckStats } from '@toolscript/core';

const life = fileURLToPath(new URL('./unchecked-life.mjs', import.meta.url));
const core = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'unchecked-'));
const installed = join(folder, 'node_modules/@toolscript/core');

/** The package as a bundler that traces files might copy it: with the parser, without TypeScript. */
function installWithoutTypeScript(): void {
  mkdirSync(installed, { recursive: true });
  cpSync(join(core, 'package.json'), join(installed, 'package.json'));
  cpSync(join(core, 'dist'), join(installed, 'dist'), { recursive: true });
  const require = createRequire(join(core, 'package.json'));
  for (const name of ['oxc-parser', 'oxc-transform', '@jridgewell/trace-mapping', 'quickjs-wasi']) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(packageFolder(require.resolve(name), name), link, 'junction');
  }
}

function packageFolder(file: string, name: string): string {
  const tail = join('node_modules', name);
  return file.slice(0, file.lastIndexOf(tail) + tail.length);
}

interface Life {
  before: TypecheckStats;
  after: TypecheckStats;
  statuses: string[];
  codes: string[];
  notices: string[];
  warnings: string[];
}

async function live(...args: string[]): Promise<Life> {
  const env = { ...process.env, TOOLSCRIPT_CORE: installed };
  const { stdout } = await promisify(execFile)(process.execPath, [life, ...args], { env });
  return JSON.parse(stdout) as Life;
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a harness without a type checker', () => {
  it('runs scripts, and says once that they are unchecked: in its figures, to its host, or as a warning', async () => {
    installWithoutTypeScript();
    const own = await live('own');
    expect(own.statuses).toEqual(['completed', 'completed']);
    expect(own.codes).toContain('typecheck-unavailable');
    expect(own.before).toEqual({ mode: 'error', state: 'untried', unchecked: 0 });
    expect(own.after).toMatchObject({ mode: 'error', state: 'unavailable', unchecked: 2 });
    expect(own.after.reason).toMatch(/native compiler is not installed/u);
    expect(own.notices).toHaveLength(1);
    expect(own.notices[0]).toMatch(/run WITHOUT type checks.*typecheck: 'off'/u);
    expect(own.warnings).toEqual([]);
    const { warnings } = await live();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^ToolscriptWarning: Scripts run WITHOUT type checks/u);
  });
});
