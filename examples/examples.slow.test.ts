import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHarness, type StreamEvent } from '@toolscript/core';
import { foldResponse } from '@toolscript/core/history';
import { codingTools } from '@toolscript/tools';
import { afterAll, describe, expect, it } from 'vitest';
import { playPage, root } from '../scripts/test/documents.js';
import { hasExecSandbox } from '@toolscript/testkit/exec-sandbox';

const examples = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && /^\d\d-/u.test(entry.name))
  .map(({ name }) => name);

describe('examples', () => {
  it('are numbered without gaps', () => {
    expect(examples.map((name) => Number(name.slice(0, 2)))).toEqual(examples.map((_, index) => index + 1));
    expect(examples.length).toBeGreaterThanOrEqual(6);
  });

  it.each(examples)('%s prints what its page says', (name) => {
    const { commands, outputs } = playPage(`examples/${name}/README.md`, (found, expected) =>
      expect(found).toBe(expected),
    );
    expect(commands).toBeGreaterThan(0);
    expect(outputs).toBeGreaterThan(0);
  });
});

describe('the first answer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-example-'));
  const answer = readFileSync(join(root, 'examples/01-first-answer/answer.md'), 'utf8');
  cpSync(join(root, 'examples/01-first-answer/project'), folder, { recursive: true });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.skipIf(!hasExecSandbox)('finds the open points, repairs the total, and keeps every byte of the text', async () => {
    const testsPass = () => {
      try {
        execFileSync(process.execPath, ['--test'], { cwd: folder, stdio: 'ignore', env: { PATH: process.env.PATH } });
        return true;
      } catch {
        return false;
      }
    };
    expect(testsPass()).toBe(false);
    const harness = createHarness({ tools: codingTools({ roots: folder }), approvals: 'auto' });
    const events: StreamEvent[] = [];
    for await (const event of harness.processText(answer)) events.push(event);
    await harness.close();
    const response = foldResponse(events);
    expect(response.status).toBe('completed');
    expect(response.output_items.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'script_execution',
      'script_execution_output',
      'message',
      'script_execution',
      'script_execution_output',
      'message',
    ]);
    let from = 0;
    for (const item of response.output_items) {
      const part =
        item.type === 'script_execution'
          ? item.source_code
          : item.type === 'message' || item.type === 'reasoning'
            ? item.content
            : '';
      expect(answer.indexOf(part, from)).toBeGreaterThanOrEqual(from);
      from = answer.indexOf(part, from) + part.length;
    }
    expect(testsPass()).toBe(true);
    expect(readFileSync(join(folder, 'TODO.md'), 'utf8').match(/^- /gmu)).toHaveLength(3);
  });
});

describe('fix the failing tests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-example-'));
  cpSync(join(root, 'examples/08-fix-failing-tests/project'), folder, { recursive: true });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('finds, runs, reads, patches and verifies in one script', async () => {
    const harness = createHarness({
      tools: codingTools({ roots: folder, exec: { sandbox: 'off' } }),
      approvals: 'auto',
    });
    const events: StreamEvent[] = [];
    const answer = readFileSync(join(root, 'examples/08-fix-failing-tests/answer.md'), 'utf8');
    for await (const event of harness.processText(answer)) events.push(event);
    await harness.close();
    const outputs = foldResponse(events).output_items.filter((item) => item.type === 'script_execution_output');
    expect(outputs).toHaveLength(1);
    expect(outputs[0]).toMatchObject({
      result: { message: '3 tests repaired', patchApplied: true, allPassing: true },
      metadata: { tool_calls_made: 17 },
    });
    const used = new Set(
      outputs[0]?.type === 'script_execution_output' ? outputs[0].operations.map(({ tool }) => tool) : [],
    );
    expect(used).toEqual(new Set(['grepFiles', 'exec', 'readFile', 'applyPatch']));
  });
});
