import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../support/few-files.mjs', import.meta.url));

interface Outcome {
  readonly value?: unknown;
  readonly code?: string;
  readonly message?: string;
}
interface Report {
  readonly during: Outcome;
  readonly after: Outcome;
  readonly leaked: number;
}

async function withFewDescriptors(tool: string, input: object): Promise<Report[]> {
  const folder = newFolder({ 'a.txt': 'needle\n', 'sub/b.txt': 'needle\n' });
  const args = ['-c', 'ulimit -n 1024; exec "$0" "$@"', process.execPath, PROGRAM, folder, tool, JSON.stringify(input)];
  const { stdout } = await run('sh', args);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Report);
}

const WORKS: readonly [string, object][] = [
  ['grepFiles', { pattern: 'needle' }],
  ['fileSearch', { pattern: 'a' }],
  ['readFile', { path: 'a.txt' }],
  ['listDir', {}],
  ['writeFile', { path: 'c.txt', content: 'x' }],
  ['applyPatch', { patch: '*** Begin Patch\n*** Add File: d.txt\n+x\n*** End Patch' }],
];

// Windows has no such limit, and without /proc open files cannot be counted.
describe.runIf(process.platform === 'linux')('without free descriptors', () => {
  it.each(WORKS)('%s fails clearly or works, leaks nothing, and works again later', async (tool, input) => {
    const reports = await withFewDescriptors(tool, input);
    expect(reports).toHaveLength(10);
    for (const { during, after, leaked } of reports) {
      if (during.value === undefined) {
        expect(during.code).toBe('ToolExecutionError');
        expect(during.message).toMatch(/Too many files are open/);
      }
      expect(after.value).toBeDefined();
      expect(leaked).toBe(0);
    }
  });
});
