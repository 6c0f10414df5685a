import { createHarness, defineTool } from '@toolscript/core';
import type { JsonValue, Tool } from '@toolscript/core/protocol';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { codingTools, suggestRules, type RuleSuggestion } from '@toolscript/tools';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { newFolder } from '@toolscript/testkit/folder';

const folder = newFolder({ 'a.txt': 'a\n', 'src/deep/b.ts': 'b\n' });
const path = process.env['PATH'] ?? '';
mkdirSync(join(folder, 'bin'));
writeFileSync(join(folder, 'bin/git'), '#!/bin/sh\necho planted\n', { mode: 0o755 });
const tools = codingTools({ roots: folder, shell: true, exec: { sandbox: 'off' } });

afterAll(() => {
  process.env['PATH'] = path;
});

function suggested(name: string, input: object): readonly RuleSuggestion[] {
  return suggestRules(toolNamed(name), input as JsonValue);
}

function toolNamed(name: string): Tool {
  return tools.find((tool) => tool.name === name)!;
}

const command = (...argv: string[]) => suggested('exec', { command: argv });
const patch = (...files: string[]) => ({
  patch: `*** Begin Patch\n${files.map((file) => `*** Add File: ${file}\n+x\n`).join('')}*** End Patch`,
});

/** The calls that pass with these rules alone; the others would ask the user. */
async function passing(suggestion: RuleSuggestion | undefined, tool: string, inputs: readonly object[]) {
  const passed: object[] = [];
  for (const input of inputs) {
    let isAsked = false;
    const harness = createHarness({
      ...sharedThreads(),
      tools,
      approvals: { rules: [...suggestion!.rules, { action: 'ask' }], ask: () => ((isAsked = true), 'deny') },
    });
    await harness.callTool(tool, input);
    await harness.close();
    if (!isAsked) passed.push(input);
  }
  return passed;
}

describe('the meaning of "always" for a command', () => {
  it.each([
    [['npm', 'test'], 'npm test', 'npm test --prefix FOLDER'],
    [['npm', 'test', '--', '--watch'], 'npm test', 'npm test --prefix FOLDER'],
    [['npm', 'run', 'build:all', '--silent'], 'npm run build:all', 'npm run build:all --prefix FOLDER'],
    [['git', 'branch'], 'git branch', 'git branch -D main'],
    [['git', 'diff', 'HEAD', '--', 'it is'], 'git diff', 'git diff --output=FILE'],
    [['make', 'check'], 'make check', 'make check SHELL=PROGRAM'],
    [['cargo', 'test'], 'cargo test', 'cargo test --config FILE'],
  ])(
    'is, for %j, the command alone, then its first words with an example of what may follow',
    (argv, prefix, example) => {
      const [exact, broader, ...more] = command(...argv);
      const line = argv.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' ');
      expect(exact).toEqual({
        covers: `exactly the command \`${line}\``,
        rules: [{ tool: 'exec', permission: `exec:${line}`, action: 'approve' }],
      });
      expect(broader).toEqual({
        covers: `every command that begins with \`${prefix}\`, whatever follows, such as \`${example}\``,
        rules: [
          { tool: 'exec', permission: `exec:${prefix}`, action: 'approve' },
          { tool: 'exec', permission: `exec:${prefix} *`, action: 'approve' },
        ],
      });
      expect(more).toEqual([]);
    },
  );

  it.each([
    [
      ['git', 'branch'],
      ['git', 'branch', '-D', 'main'],
    ],
    [
      ['git', 'diff'],
      ['git', 'diff', '--output=a.txt'],
    ],
  ])('is narrow first: after %j, %j asks', async (argv, other) => {
    const calls = [{ command: argv }, { command: other }];
    const [exact, broader] = command(...argv);
    expect(await passing(exact, 'exec', calls)).toEqual(calls.slice(0, 1));
    expect(await passing(broader, 'exec', calls)).toEqual(calls);
  });

  it.each([
    [['node', '-e', 'console.log(1)'], "node -e 'console.log(1)'"],
    [['python3', '-c', 'print(1)'], "python3 -c 'print(1)'"],
    [['python3', '-m', 'pytest'], 'python3 -m pytest'],
    [['npm', 'exec', 'cowsay'], 'npm exec cowsay'],
    [['npx', 'cowsay'], 'npx cowsay'],
    [['npm', 'run'], 'npm run'],
    [['npm', 'install', 'left-pad'], 'npm install left-pad'],
    [['git', 'push', '--force'], 'git push --force'],
    [['git', 'fetch', '--upload-pack=evil'], 'git fetch --upload-pack=evil'],
    [['git', '-c', 'core.pager=evil', 'diff'], 'git -c core.pager=evil diff'],
    [['bun', 'run', 'sh', '-c', 'evil'], 'bun run sh -c evil'],
    [['yarn', 'run', 'node', '-e', 'evil'], 'yarn run node -e evil'],
    [['go', 'vet', '-vettool=evil'], 'go vet -vettool=evil'],
    [['make', '-f', 'other'], 'make -f other'],
    [['make', 'SHELL=evil'], 'make SHELL=evil'],
    [['ls', '-la', 'a b'], "ls -la 'a b'"],
    [['constructor', 'x'], 'constructor x'],
  ])('%j: exactly this', (argv, line) => {
    expect(command(...argv)).toEqual([
      {
        covers: `exactly the command \`${line}\``,
        rules: [{ tool: 'exec', permission: `exec:${line}`, action: 'approve' }],
      },
    ]);
  });

  it.each<[string, object]>([
    ['a shell', { command: ['sh', '-c', 'npm test'] }],
    ['env', { command: ['env', 'npm', 'test'] }],
    ['xargs', { command: ['xargs', 'npm', 'test'] }],
    ['sudo', { command: ['sudo', 'npm', 'test'] }],
    ['a path', { command: ['./npm', 'test'] }],
    ['a path from elsewhere', { command: ['/tmp/npm', 'test'] }],
    ['a variable', { command: ['npm', 'test'], env: { NODE_OPTIONS: '--require ./evil.js' } }],
    ['an invisible character', { command: ['npm', 'te\u200bst'] }],
    ['a star, which a rule would read as a pattern', { command: ['node', '-e', '1*2'] }],
    ['a text that nobody reads to its end', { command: ['node', '-e', 'x'.repeat(400)] }],
  ])('%s: nothing, and such calls are asked about each time', (_, input) => {
    expect(suggested('exec', input)).toEqual([]);
  });

  it('is nothing for a program in the workspace', () => {
    process.env['PATH'] = `${join(folder, 'bin')}:${path}`;
    expect(command('git', 'diff')).toEqual([]);
    process.env['PATH'] = path;
    expect(command('git', 'diff')).toHaveLength(2);
  });

  it('is nothing for a shell line', () => {
    expect(suggested('shell', { command: 'npm test' })).toEqual([]);
  });

  it('allows exactly the described calls', async () => {
    const calls = [
      ['git', 'status'],
      ['git', 'status', '--short'],
      ['git', 'stash', 'list'],
      ['git', '-C', '.', 'status'],
      ['git', 'status*'],
      ['git status'],
      ['sh', '-c', 'git status'],
    ].map((argv) => ({ command: argv }));
    expect(await passing(command('git', 'status')[1], 'exec', calls)).toEqual(calls.slice(0, 2));
  });
});

describe('the meaning of "always" for a write', () => {
  it.each<[string, object, string, string]>([
    ['writeFile', { path: 'a.txt', content: '' }, 'the file a.txt', 'a.txt'],
    ['writeFile', { path: 'src/deep/b.ts', content: '' }, 'files below src/deep/', 'src/deep/*'],
    ['writeFile', { path: 'src/../src/new/c.ts', content: '' }, 'files below src/new/', 'src/new/*'],
    ['applyPatch', patch('src/deep/x.ts', 'src/y.ts'), 'files below src/', 'src/*'],
    ['applyPatch', patch('src/deep/x.ts', 'z.ts'), 'any file', '*'],
    ['applyPatch', patch('z.ts'), 'the file z.ts', 'z.ts'],
  ])('%s %j: %s', (tool, input, files, pattern) => {
    expect(suggested(tool, input)).toEqual([
      { covers: `${tool} on ${files}`, rules: [{ tool, permission: `write:${pattern}`, action: 'approve' }] },
    ]);
  });

  it.each(['../a.txt', '/etc/passwd', '/etc/new/x', 'src/*', '*', 'a*/b.txt'])('is nothing for %s', (path) => {
    expect(suggested('writeFile', { path, content: '' })).toEqual([]);
  });

  it('allows exactly the described calls', async () => {
    const calls = ['src/deep/n.ts', 'src/deep/er/n.ts', 'src/n.ts', 'src/deeper.ts', 'src/deep/../n.ts'].map(
      (path) => ({ path, content: 'x' }),
    );
    const [suggestion] = suggested('writeFile', { path: 'src/deep/b.ts', content: '' });
    expect(await passing(suggestion, 'writeFile', calls)).toEqual(calls.slice(0, 2));
    expect(await passing(suggestion, 'applyPatch', [patch('src/deep/p.ts')])).toEqual([]);
  });
});

it('"always" means the whole tool for any other tool, and nothing if the tool cannot report what it touches', () => {
  const say = defineTool({ name: 'post.say', description: 'x', execute: () => 1 });
  expect(suggestRules(say, {})).toEqual([
    { covers: 'every call to post.say', rules: [{ tool: 'post.say', action: 'approve' }] },
  ]);
  const permissions = () => {
    throw new Error('unknown');
  };
  const mute = defineTool({ name: 'mute', description: 'x', permissions, execute: () => 1 });
  expect(suggestRules(mute, {})).toEqual([]);
});
