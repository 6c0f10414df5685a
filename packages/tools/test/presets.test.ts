import { createHarness } from '@toolscript/core';
import type { ApprovalRule } from '@toolscript/core/protocol';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { codingTools, commandRules, fullPreset, readOnlyPreset, workspaceWritePreset } from '@toolscript/tools';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { newFolder } from '@toolscript/testkit/folder';

const folder = newFolder({ 'a.txt': 'a\n' });
const path = process.env['PATH'] ?? '';
mkdirSync(join(folder, 'bin'));
writeFileSync(join(folder, 'bin/planted'), '#!/bin/sh\necho planted\n', { mode: 0o755 });

afterAll(() => {
  process.env['PATH'] = path;
});

/** The result of a call under these rules: it passed, a user was asked, or it was denied. */
async function fate(rules: ApprovalRule[], tool: string, input: object): Promise<'passed' | 'asked' | 'denied'> {
  let isAsked = false;
  const harness = createHarness({
    tools: codingTools({ roots: folder, shell: true, exec: { sandbox: 'off' } }),
    approvals: { rules, ask: () => ((isAsked = true), 'deny') },
    ...sharedThreads(),
  });
  const operation = await harness.callTool(tool, input as never);
  await harness.close();
  if (isAsked) return 'asked';
  return operation.status === 'denied' || operation.error?.code === 'ApprovalDeniedError' ? 'denied' : 'passed';
}

const patch = '*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch';
const run = (...command: string[]) => ({ command });

describe('presets', () => {
  it.each([
    ['read-only', readOnlyPreset(), ['passed', 'asked', 'asked', 'asked', 'asked']],
    ['workspace-write', workspaceWritePreset(), ['passed', 'passed', 'passed', 'asked', 'asked']],
    ['full', fullPreset(), ['passed', 'passed', 'passed', 'passed', 'passed']],
  ])('%s', async (_, rules, fates) => {
    expect([
      await fate(rules, 'readFile', { path: 'a.txt' }),
      await fate(rules, 'writeFile', { path: 'b.txt', content: 'b' }),
      await fate(rules, 'applyPatch', { patch }),
      await fate(rules, 'exec', run('true')),
      await fate(rules, 'shell', { command: 'true' }),
    ]).toEqual(fates);
  });

  it('accept command rules', async () => {
    const rules = workspaceWritePreset({ allow: ['true now'], deny: ['*rm -rf*'] });
    expect(await fate(rules, 'exec', run('true', 'now'))).toBe('passed');
    expect(await fate(rules, 'exec', run('sh', '-c', 'rm -rf /'))).toBe('denied');
    expect(await fate(rules, 'exec', run('ls'))).toBe('asked');
    expect(await fate(fullPreset({ deny: ['*rm -rf*'] }), 'shell', { command: 'rm -rf x' })).toBe('denied');
  });
});

describe('a rule on a command prefix', () => {
  const rules: ApprovalRule[] = [
    ...commandRules({ allow: ['true', 'echo one', 'planted', 'sh', 'env', 'timeout 5 true'] }),
    { tool: 'exec', permission: 'exec:*', action: 'approve' },
    { tool: 'shell', permission: 'shell:*', action: 'approve' },
    { action: 'ask' },
  ];
  const strict: ApprovalRule[] = [...commandRules({ allow: ['true', 'echo one'] }), { action: 'ask' }];

  it('matches whole words at the beginning', async () => {
    expect(await fate(strict, 'exec', run('true'))).toBe('passed');
    expect(await fate(strict, 'exec', run('true', 'x', 'it is'))).toBe('passed');
    expect(await fate(strict, 'exec', run('echo', 'one', 'two'))).toBe('passed');
    for (const command of [['echo', 'onetwo'], ['echo'], ['echo', 'one two'], ['truer'], ['echo', '-n', 'one']])
      expect(await fate(strict, 'exec', { command })).toBe('asked');
  });

  it.each<[string, object]>([
    ['a shell', run('sh', '-c', 'true')],
    ['a shell by path', run('/bin/sh', '-c', 'true')],
    ['env', run('env', 'true')],
    ['xargs', run('xargs', 'true')],
    ['sudo', run('sudo', 'true')],
    ['nice', run('nice', 'true')],
    ['timeout', run('timeout', '5', 'true')],
    ['a path in the workspace', run('./true')],
    ['a path elsewhere', run('/tmp/true')],
    ['a path back and forth', run('../bin/true')],
    ['a newline', run('true', 'a\nb')],
    ['a control character', run('true', '\u001b[2J')],
    ['an invisible character', run('true', 'a\u200bb')],
    ['a variation selector', run('true', 'a\ufe0f')],
    ['a filler', run('true', 'a\u3164')],
    ['the braille blank', run('true', 'a\u2800')],
    ['a library to preload', { command: ['true'], env: { LD_PRELOAD: './x.so' } }],
    ['another PATH', { command: ['true'], env: { PATH: '.' } }],
    ['capitals', run('ENV', 'true')],
  ])('never matches through %s', async (_, input) => {
    expect(await fate(rules, 'exec', input)).toBe('asked');
  });

  it('never matches a program in the workspace, whatever PATH is', async () => {
    process.env['PATH'] = `${join(folder, 'bin')}:${path}`;
    expect(await fate(rules, 'exec', run('planted'))).toBe('asked');
    process.env['PATH'] = path;
  });

  it('never matches the shell tool', async () => {
    expect(await fate(rules, 'shell', { command: 'true' })).toBe('asked');
  });

  it('is rejected if it is empty or contains a pattern', () => {
    for (const prefix of ['', ' ', 'npm *'])
      expect(() => commandRules({ allow: [prefix] })).toThrow(/is not a command prefix/);
  });
});
