import { existsSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RuleFolder, type NewRule } from '#cli/approvals/workspace-rules.js';
import { userFolder } from '#cli/configuration/locations.js';
import { inProcess } from '../support/in-process.js';
import { atTerminal, command, hasTerminal, PROMPT } from '../support/terminal.js';
import { hasExecSandbox } from '@toolscript/testkit/exec-sandbox';
import { newFolder } from '@toolscript/testkit/folder';

const GIT = "return (await tools.exec({ command: ['git', 'status', '--short'] })).timedOut;";
const COVERS = 'exactly the command `git status --short`';
const BROADER = 'every command that begins with `git status`, whatever follows, such as `git status --ignored`';

/** A user's own folder and two workspaces. */
function place() {
  const config = newFolder();
  return { env: { XDG_CONFIG_HOME: config }, config, workspace: newFolder(), other: newFolder() };
}

function filesBelow(folder: string): string[] {
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [];
}

describe.skipIf(!hasTerminal)('always allow this (skipped where util-linux `script` gives no terminal)', () => {
  it.skipIf(!hasExecSandbox)(
    'is shown and stored; this workspace does not ask again, and another one does',
    async () => {
      const { env, config, workspace, other } = place();
      const narrow = await atTerminal(command(other, GIT), [[PROMPT, 'w']], env);
      expect(narrow.shown).toContain(`[w] would always allow in this workspace: ${COVERS}`);
      const same = await atTerminal(command(other, GIT), [], env);
      expect({ status: same.status, asked: same.shown.includes(PROMPT) }).toEqual({ status: 0, asked: false });

      const first = await atTerminal(command(workspace, GIT), [[PROMPT, 'b']], env);
      expect(first.status).toBe(0);
      expect(first.shown).toContain(`[b] would always allow in this workspace: ${BROADER}`);
      expect(first.shown.indexOf(BROADER)).toBeLessThan(first.shown.indexOf(PROMPT));
      expect(first.shown).toContain('always in this workspace (to end this: toolscript rules --remove NUMBER)');

      const files = filesBelow(config);
      expect(files).toHaveLength(2);
      for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(filesBelow(workspace).map((path) => path.slice(workspace.length))).toEqual(['/answer.md']);

      const again = await atTerminal(command(workspace, GIT.replace('--short', '--branch')), [], env);
      expect({ status: again.status, asked: again.shown.includes(PROMPT) }).toEqual({ status: 0, asked: false });
      const elsewhere = await atTerminal(command(other, GIT.replace('--short', '--branch')), [[PROMPT, 'n\r']], env);
      expect(elsewhere.status).toBe(1);
    },
  );

  it.skipIf(!hasExecSandbox)('answers pending calls and later scripts of the same run, and no others', async () => {
    const { env, workspace } = place();
    const exec = (...argv: string[]) => `tools.exec({ command: ${JSON.stringify(argv)} })`;
    const source = `await Promise.all([${exec('git', 'status')}, ${exec('git', 'status', '-s')}]);
</tool-calls>
<tool-calls>
await ${exec('git', 'status', '-b')};
await ${exec('git', 'log')};`;
    const { status, shown } = await atTerminal(
      command(workspace, source),
      [
        [PROMPT, 'b'],
        ['begins with `git log`', ''],
        [PROMPT, 'y'],
      ],
      env,
    );
    expect(status).toBe(0);
    expect(shown.split(PROMPT)).toHaveLength(3);
  });

  it('is not offered for a shell command, and w does nothing there', async () => {
    const { env, config, workspace } = place();
    const { shown } = await atTerminal(
      command(workspace, "await tools.exec({ command: ['sh', '-c', 'git status'] });"),
      [
        [PROMPT, 'w'],
        ['is not offered', ''],
        [PROMPT, 'n\r'],
      ],
      env,
    );
    expect(shown).not.toContain('would always allow');
    expect(filesBelow(config)).toEqual([]);
  });

  it('never overrides what the user’s own configuration forbids or asks about', async () => {
    const { env, config, workspace } = place();
    await atTerminal(command(workspace, GIT), [[PROMPT, 'w']], env);
    const own = (action: string) => {
      const rules = [{ tool: 'exec', permission: 'exec:git status*', action }];
      writeFileSync(join(config, 'toolscript/config.json'), JSON.stringify({ rules }));
    };
    own('deny');
    const denied = await atTerminal(command(workspace, GIT), [], env);
    expect(denied.status).toBe(1);
    expect(denied.shown).toContain('a rule forbids it');
    expect((await atTerminal(command(workspace, GIT, '--approve auto'), [], env)).status).toBe(1);
    own('ask');
    const asked = await atTerminal(command(workspace, GIT), [[PROMPT, 'y']], env);
    expect(asked.shown).not.toContain('would always allow');
  });

  it.skipIf(!hasExecSandbox)('runs the call and warns if the rule cannot be stored', async () => {
    const { env, config, workspace } = place();
    symlinkSync(join(config, 'nowhere/at/all'), join(config, 'toolscript'));
    const { status, shown } = await atTerminal(command(workspace, GIT), [[PROMPT, 'w']], env);
    expect(status).toBe(0);
    expect(shown).toContain('cannot be written (ENOTDIR)');
  });

  it('cannot be forged by a script that writes a rule of that name into the workspace', async () => {
    const { env, config, workspace } = place();
    await atTerminal(command(workspace, GIT), [[PROMPT, 'w']], env);
    const [kept] = filesBelow(config);
    const forged = readFileSync(kept!, 'utf8').replaceAll('git status', 'git log');
    const name = kept!.slice(config.length + 1);
    const write = `for (const folder of ['', '.config/', '.toolscript/'])
  await tools.writeFile({ path: folder + ${JSON.stringify(name)}, content: ${JSON.stringify(forged)} }).catch(() => {});
await tools.writeFile({ path: '${kept}', content: ${JSON.stringify(forged)} }).catch((error) => console.log(error.message));`;
    const written = await inProcess(['eval', '-e', write, '--cwd', workspace, '--approve', 'auto'], { env });
    expect(written.stdout).toContain('outside');
    expect(existsSync(join(workspace, name))).toBe(true);
    const log = "await tools.exec({ command: ['git', 'log'] });";
    expect((await atTerminal(command(workspace, log), [[PROMPT, 'n\r']], env)).status).toBe(1);
  });
});

describe('without a terminal', () => {
  it('calls that are always allowed run, and all others wait', async () => {
    const { env, workspace } = place();
    const folder = new RuleFolder(userFolder(env), workspace);
    await folder!.add(ruleFor('writeFile'));
    const both = await inProcess(
      [
        'eval',
        '--json',
        '--cwd',
        workspace,
        '-e',
        "await tools.writeFile({ path: 'a', content: '' }); await tools.exec({ command: ['true'] })",
      ],
      { env },
    );
    const { operations } = JSON.parse(both.stdout) as { operations: { status: string }[] };
    expect(operations.map(({ status }) => status)).toEqual(['completed', 'awaiting_approval']);
    expect(both.status).toBe(3);
  });
});

function ruleFor(tool: string): NewRule {
  return { covers: `every call to ${tool}`, rules: [{ tool, action: 'approve' }] };
}

function openedFolder() {
  const { env, workspace, config } = place();
  const folder = new RuleFolder(userFolder(env), workspace);
  return { env, workspace, config, folder };
}

describe('the rules of a workspace', () => {
  it('of concurrent writers are all stored; equal rules are stored once', async () => {
    const { env, workspace, config, folder } = openedFolder();
    const names = Array.from({ length: 50 }, (_, index) => `tool${index}`);
    const others = new RuleFolder(userFolder(env), workspace);
    await Promise.all(names.flatMap((name) => [folder.add(ruleFor(name)), others.add(ruleFor(name))]));
    const kept = await folder.list((message) => expect.fail(message));
    expect(new Set(kept.map(({ rules }) => rules[0]!.tool))).toEqual(new Set(names));
    expect(filesBelow(config)).toHaveLength(50);
  });

  it.each<[string, object]>([
    ['of another workspace', { workspace: '/elsewhere' }],
    ['that forbids', { rules: [{ tool: 'exec', action: 'deny' }] }],
    ['for every tool', { rules: [{ action: 'approve' }] }],
    ['with unknown members', { more: 1 }],
    ['that is cut off', {}],
  ])('a file %s is ignored, and named in a warning', async (name, changes) => {
    const { workspace, config, folder } = openedFolder();
    await folder.add(ruleFor('exec'));
    const [file] = filesBelow(config);
    const text = JSON.stringify({ ...(JSON.parse(readFileSync(file!, 'utf8')) as object), ...changes });
    writeFileSync(file!, name === 'that is cut off' ? text.slice(0, -2) : text);
    const warnings: string[] = [];
    expect(await folder.list((message) => void warnings.push(message))).toEqual([]);
    expect(warnings.join()).toContain(file);
    expect(workspace).not.toBe('/elsewhere');
  });

  it('a file that is a link into the workspace is ignored, and named in a warning', async () => {
    const { workspace, config, folder } = openedFolder();
    await folder.add(ruleFor('exec'));
    const [file] = filesBelow(config);
    renameSync(file!, join(workspace, 'theirs'));
    symlinkSync(join(workspace, 'theirs'), file!);
    const warnings: string[] = [];
    expect(await folder.list((message) => void warnings.push(message))).toEqual([]);
    expect(warnings.join()).toContain(`${file} leads into the workspace`);
  });
});

describe('toolscript rules', () => {
  it('lists them, removes one, and removes all', async () => {
    const { env, workspace, folder } = openedFolder();
    const rules = (...args: string[]) => inProcess(['rules', '--cwd', workspace, ...args], { env });
    expect((await rules()).stdout).toBe(`No calls are always allowed in ${workspace}.\n`);
    for (const name of ['one', 'two\u202e', 'three']) await folder.add(ruleFor(name));
    expect((await rules()).stdout).toBe(
      `Always allowed in ${workspace}:\n1. every call to one\n2. every call to two\\u{202e}\n3. every call to three\n`,
    );
    expect((await rules('--remove', '2')).stdout).toContain(
      'No longer allowed without asking: every call to two\\u{202e}\n',
    );
    expect(JSON.parse((await rules('--json')).stdout)).toMatchObject([
      { workspace, covers: 'every call to one', rules: [{ tool: 'one', action: 'approve' }] },
      { covers: 'every call to three' },
    ]);
    for (const wrong of ['3', '0', 'one', '-1']) {
      const { status, stderr } = await rules(`--remove=${wrong}`);
      expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('there is no such rule') });
    }
    expect((await rules('--clear')).stdout).toContain(`No calls are always allowed in ${workspace}.`);
    expect(await folder.list(() => {})).toEqual([]);
    expect((await rules('--clear', '--remove', '1')).status).toBe(2);
  });
});
