import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Tool, ToolCallContext } from '@toolscript/core/protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import * as everything from '@toolscript/tools';
import { texts } from './support/temporary-folder.js';
import { hasExecSandbox } from '@toolscript/testkit/exec-sandbox';
import { newFolder, put } from '@toolscript/testkit/folder';

const { codingTools } = everything;

let folder: string;
let tools: Map<string, Tool>;

beforeAll(() => {
  folder = newFolder({ 'a.txt': 'one\ntwo\n', 'src/b.ts': 'export {};\n' });
  tools = new Map(codingTools({ roots: folder }).map((tool) => [tool.name, tool]));
});

const context: ToolCallContext = {
  app: undefined,
  principal: undefined,
  threadId: undefined,
  runId: undefined,
  signal: new AbortController().signal,
  callId: 'call_1',
  scriptId: undefined,
  idempotencyKey: 'key',
  progress: () => undefined,
  output: undefined,
  maxOutputBytes: 1000,
};

/** As the facade calls a tool: with a check of the input and of the result. */
async function call(name: string, input: unknown): Promise<unknown> {
  const tool = tools.get(name)!;
  const valid = tool.validateInput(input);
  if (!valid.ok) throw new Error(JSON.stringify(valid.issues));
  const result = tool.validateOutput(await tool.execute(valid.value as never, context));
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value;
}

describe('the catalog', () => {
  it('has the tools for work on a folder, each with effect, approval, schemas and a short description', () => {
    expect([...tools.values()].map(({ name, effect, approval }) => `${name} ${effect} ${approval as string}`)).toEqual([
      'readFile read never',
      'writeFile write policy',
      'listDir read never',
      'viewImage read never',
      'grepFiles read never',
      'fileSearch read never',
      'applyPatch write policy',
      'exec external always',
      'updatePlan read never',
    ]);
    for (const tool of tools.values()) {
      expect(tool.inputSchema['type']).toBe('object');
      expect(tool.outputSchema?.['type']).toBe('object');
      expect(tool.description.length).toBeLessThan(700);
    }
  });

  it('omits exec on request', () => {
    expect(codingTools({ roots: folder, exec: false }).map(({ name }) => name)).not.toContain('exec');
  });

  it('exports each tool and applyPatch by name', () => {
    const exported = Object.keys(everything);
    for (const name of tools.keys()) expect(exported).toContain(`${name}Tool`);
    expect(exported).toContain('applyPatch');
  });
});

describe('every tool', () => {
  it.skipIf(!hasExecSandbox)(
    'accepts the arguments of its signature and returns data that matches its schema',
    async () => {
      expect(await call('readFile', { path: 'a.txt', offset: 1, limit: 10, mode: 'slice', cwd: '.' })).toMatchObject({
        lines: ['one', 'two'],
      });
      expect(await call('readFile', { path: 'a.txt', mode: 'indentation', anchorLine: 2, maxLevels: 1 })).toMatchObject(
        {
          success: true,
        },
      );
      expect(await call('writeFile', { path: 'w.txt', content: 'w' })).toMatchObject({ created: true, bytes: 1 });
      expect(await call('listDir', { path: '.', offset: 1, limit: 25, depth: 2 })).toMatchObject({ success: true });
      expect(
        await call('grepFiles', { pattern: 'two', include: '*.txt', path: '.', limit: 100, matches: true }),
      ).toMatchObject({
        files: ['a.txt'],
        matches: [{ path: 'a.txt', line: 2, column: 1, text: 'two' }],
      });
      expect(
        await call('grepFiles', {
          pattern: 'ONE\\ntwo',
          exclude: ['src'],
          context: 1,
          multiline: true,
          ignoreCase: true,
          smartCase: false,
          literal: false,
          cwd: '.',
        }),
      ).toMatchObject({ matches: [{ path: 'a.txt', line: 1, endLine: 2, before: [], after: [] }] });
      put(folder, 'i.png', Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'));
      expect(await call('viewImage', { path: 'i.png', cwd: '.', inline: true })).toMatchObject({
        mediaType: 'image/gif',
        width: 1,
        height: 1,
      });
      expect(await call('fileSearch', { pattern: 'b.ts', limit: 1, path: '.', exclude: ['dist'] })).toMatchObject({
        files: [{ path: 'src/b.ts' }],
      });
      expect(
        await call('applyPatch', {
          patch: '*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch',
          cwd: '.',
        }),
      ).toMatchObject({ success: true });
      expect(texts(folder)['a.txt']).toBe('one\n2\n');
      expect(
        await call('exec', {
          command: ['echo', 'hi'],
          cwd: 'src',
          env: { A: '1' },
          timeoutMs: 5000,
          approvalContext: 'to see',
        }),
      ).toMatchObject({ exitCode: 0, stdout: 'hi\n' });
      expect(await call('updatePlan', { plan: [{ step: 'x', status: 'pending' }] })).toMatchObject({
        content: 'Plan updated',
      });
    },
  );

  it('rejects unknown arguments', () => {
    for (const tool of tools.values()) expect(tool.validateInput({ nonsense: 1 }).ok).toBe(false);
    expect(tools.get('exec')!.validateInput({ command: 'ls' }).ok).toBe(false);
    expect(tools.get('exec')!.validateInput({ command: [] }).ok).toBe(false);
    expect(tools.get('exec')!.validateInput({ command: ['ls'], timeoutMs: 1e9 }).ok).toBe(false);
    expect(tools.get('readFile')!.validateInput({ path: 'a', offset: 0 }).ok).toBe(false);
  });
});

const permissions = (name: string, input: unknown): readonly string[] => {
  const valid = tools.get(name)!.validateInput(input);
  if (!valid.ok) throw new Error(JSON.stringify(valid.issues));
  return tools.get(name)!.permissions!(valid.value as never);
};

const preview = (name: string, input: unknown): unknown =>
  tools.get(name)!.preview!((tools.get(name)!.validateInput(input) as unknown as { value: never }).value, context);

describe('the subject of a call', () => {
  it('is named by real paths, however they are written', () => {
    expect(permissions('writeFile', { path: './src/../src/new.ts', content: '' })).toEqual(['write:src/new.ts']);
    expect(permissions('writeFile', { path: join(folder, 'x/y'), content: '' })).toEqual(['write:x/y']);
    expect(permissions('writeFile', { path: '../evil', content: '' })).toEqual(['write:../evil']);
    expect(permissions('readFile', { path: 'b.ts', cwd: 'src' })).toEqual(['read:src/b.ts']);
    const patch =
      '*** Begin Patch\n*** Add File: n\n+1\n*** Update File: a.txt\n*** Move to: src/./c\n@@\n-x\n+y\n*** End Patch';
    expect(permissions('applyPatch', { patch })).toEqual(['write:n', 'write:a.txt', 'write:src/c']);
    expect(permissions('applyPatch', { patch: 'nonsense' })).toEqual(['write:(unreadable patch)']);
    expect(permissions('exec', { command: ['npm', 'test', 'a b'] })).toEqual(["exec:npm test 'a b'"]);
  });

  it('is previewed without an effect', async () => {
    put(folder, 'p.txt', '1\n2\n');
    const patch = '*** Begin Patch\n*** Update File: p.txt\n*** Move to: q.txt\n@@\n-2\n+two\n*** End Patch';
    expect(await preview('applyPatch', { patch })).toBe(`update p.txt -> q.txt (+1 -1)\n\n${patch}`);
    expect(await preview('applyPatch', { patch: patch.replace('-2', '-9') })).toMatch(
      /^This patch would fail: Hunk 1 of 'p.txt'/,
    );
    expect(await preview('writeFile', { path: 'z', content: 'héllo' })).toBe('Create z, +1\n\nhéllo');
    put(folder, 'r.txt', 'one\ntwo\nthree\n');
    expect(await preview('writeFile', { path: 'r.txt', content: 'one\n2\nthree\nfour\n' })).toMatch(
      /^Replace r.txt, \+2 −1\n\n--- a\/r.txt\n\+\+\+ b\/r.txt\n@@ [^]*-two\n\+2\n three\n\+four\n$/u,
    );
    expect(
      await preview('exec', { command: ['rm', '-rf', 'a b'], cwd: 'src', env: { A: 'b c' }, timeoutMs: 1000 }),
    ).toBe("rm -rf 'a b'\nin src\nwith A='b c'\nfor at most 1000 ms");
    expect(existsSync(join(folder, 'q.txt'))).toBe(false);
    expect(existsSync(join(folder, 'z'))).toBe(false);
  });
});
