import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inProcess } from '../support/in-process.js';
import { newFolder } from '@toolscript/testkit/folder';

/** A workspace, and a folder outside of it. */
interface Place {
  workspace: string;
  outside: string;
}

const WRITE = ['eval', '-e', "await tools.writeFile({ path: 'written', content: '' }); return"];
const ALLOWS_ALL = JSON.stringify({ approve: 'auto', exec: { sandbox: 'off' } });

function place(): Place {
  return { workspace: newFolder(), outside: newFolder() };
}

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function link(path: string, target: string): string {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
  return path;
}

/** A configuration that allows everything, as a file of the workspace. */
function plant({ workspace }: Place, folder = 'config'): string {
  write(join(workspace, folder, 'toolscript', 'config.json'), ALLOWS_ALL);
  return join(workspace, folder);
}

async function expectRefused({ workspace }: Place, env: Record<string, string>, said: string, args = WRITE) {
  const { status, stdout, stderr } = await inProcess(args, { cwd: workspace, env });
  expect({ status, stdout }, stderr).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^toolscript: [^\n]+\n$/u);
  expect(stderr).toContain(said);
  expect(existsSync(join(workspace, 'written'))).toBe(false);
}

describe('the user’s own configuration', () => {
  it.each<[string, (there: Place) => Record<string, string>]>([
    ['in the workspace', (there) => ({ XDG_CONFIG_HOME: plant(there) })],
    ['in a home that is the workspace', (there) => ({ XDG_CONFIG_HOME: '', HOME: dirname(plant(there, '.config')) })],
    [
      'in the workspace, spelled with ..',
      (there) => {
        plant(there);
        return { XDG_CONFIG_HOME: `${there.outside}/../${relative(dirname(there.outside), there.workspace)}/config` };
      },
    ],
    [
      'behind a link into the workspace',
      (there) => ({ XDG_CONFIG_HOME: link(join(there.outside, 'l'), plant(there)) }),
    ],
    [
      'behind a link in the workspace, which a script could turn round',
      (there) => {
        write(join(there.outside, 'toolscript', 'config.json'), ALLOWS_ALL);
        return { XDG_CONFIG_HOME: link(join(there.workspace, 'l'), there.outside) };
      },
    ],
    [
      'behind a link from outside to a link in the workspace',
      (there) => {
        write(join(there.outside, 'real', 'toolscript', 'config.json'), ALLOWS_ALL);
        link(join(there.workspace, 'hop'), join(there.outside, 'real'));
        return { XDG_CONFIG_HOME: link(join(there.outside, 'first'), join(there.workspace, 'hop')) };
      },
    ],
    [
      'behind a link to what a script could make in the workspace',
      (there) => {
        link(join(there.outside, 'toolscript'), join(there.workspace, 'not', 'yet'));
        return { XDG_CONFIG_HOME: there.outside };
      },
    ],
    [
      'whose trusted folders are a link into the workspace',
      (there) => {
        link(join(there.outside, 'toolscript', 'trusted'), there.workspace);
        return { XDG_CONFIG_HOME: there.outside };
      },
    ],
    [
      'whose rules are a link into the workspace',
      (there) => {
        link(join(there.outside, 'toolscript', 'rules'), there.workspace);
        return { XDG_CONFIG_HOME: there.outside };
      },
    ],
  ])('%s counts for nothing: the command ends with what to do', async (_name, arrange) => {
    const there = place();
    await expectRefused(there, arrange(there), 'XDG_CONFIG_HOME to a folder outside');
  });

  it('is rejected by every command that reads or writes it for a workspace', async () => {
    const there = place();
    const env = { XDG_CONFIG_HOME: plant(there) };
    for (const args of [['tools'], ['rules'], ['trust'], ['run', '/dev/null'], ['Say something']])
      await expectRefused(there, env, 'Scripts can write to your configuration in', args);
    expect(existsSync(join(there.workspace, 'config', 'toolscript', 'trusted'))).toBe(false);
  });

  it('in the workspace is rejected even if the workspace is named by a link', async () => {
    const there = place();
    const env = { XDG_CONFIG_HOME: plant(there) };
    const named = link(join(there.outside, 'named'), there.workspace);
    await expectRefused(there, env, 'Scripts can write to your configuration in', [...WRITE, '--cwd', named]);
  });

  it('in code is not run in the workspace', async () => {
    const there = place();
    const marker = join(there.outside, 'ran');
    const code = `require('node:fs').writeFileSync(${JSON.stringify(marker)}, ''); export default { approve: 'auto' };`;
    write(join(there.workspace, 'config', 'toolscript', 'config.ts'), code);
    await expectRefused(
      there,
      { XDG_CONFIG_HOME: join(there.workspace, 'config') },
      'Scripts can write to your configuration in',
    );
    expect(existsSync(marker)).toBe(false);
  });

  it.each([
    ['config.json', WRITE],
    ['config.ts', WRITE],
    ['agents/mine.json', ['Say something', '--agent', 'mine']],
    ['agents/mine.ts', ['Say something', '--agent', 'mine']],
  ])('is ignored if %s is a link into the workspace', async (name, args) => {
    const there = place();
    const target = write(join(there.workspace, 'theirs'), ALLOWS_ALL);
    link(join(there.outside, 'toolscript', name), target);
    await expectRefused(there, { XDG_CONFIG_HOME: there.outside }, there.workspace, args);
  });

  it('is used if it is outside, including through outside links', async () => {
    const there = place();
    write(join(there.outside, 'real', 'toolscript', 'config.json'), ALLOWS_ALL);
    const env = { XDG_CONFIG_HOME: link(join(there.outside, 'l'), 'real') };
    const { status, stderr } = await inProcess(WRITE, { cwd: there.workspace, env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(existsSync(join(there.workspace, 'written'))).toBe(true);
  });

  it('is never searched in the current folder if HOME is empty', async () => {
    const there = place();
    plant(there, '.config');
    plant(there, '');
    const env = { HOME: '', XDG_CONFIG_HOME: '' };
    const { status } = await inProcess(WRITE, { cwd: there.workspace, env });
    expect(status).not.toBe(0);
    expect(existsSync(join(there.workspace, 'written'))).toBe(false);
  });

  it('is not searched if HOME is a relative path, which the command reports', async () => {
    const there = place();
    plant(there, '.config');
    await expectRefused(there, { HOME: '.', XDG_CONFIG_HOME: '' }, 'HOME is "."');
    await expectRefused(there, { HOME: '.', XDG_CONFIG_HOME: '', XDG_DATA_HOME: '' }, 'HOME is "."', ['approvals']);
  });

  it('in the workspace is rejected in another letter case on a case-insensitive file system', async ({ skip }) => {
    const there = place();
    const other = join(
      dirname(there.workspace),
      there.workspace.slice(dirname(there.workspace).length + 1).toUpperCase(),
    );
    if (!existsSync(other)) skip('this file system tells cases apart');
    plant(there);
    await expectRefused(
      there,
      { XDG_CONFIG_HOME: join(other, 'config') },
      'Scripts can write to your configuration in',
    );
  });
});

describe('the user’s own data', () => {
  it.each<[string, (there: Place) => Record<string, string>]>([
    ['in the workspace', ({ workspace }) => ({ XDG_DATA_HOME: join(workspace, 'data') })],
    [
      'whose key is a link into the workspace',
      ({ workspace, outside }) => {
        const key = write(join(workspace, 'key'), 'k'.repeat(32));
        link(join(outside, 'toolscript', 'suspension.key'), key);
        return { XDG_DATA_HOME: outside };
      },
    ],
    [
      'whose audit log is a link into the workspace',
      ({ workspace, outside }) => {
        link(join(outside, 'toolscript', 'audit.jsonl'), join(workspace, 'audit'));
        return { XDG_DATA_HOME: outside };
      },
    ],
  ])('%s are neither read nor written: the command ends with what to do', async (_name, arrange) => {
    const there = place();
    await expectRefused(there, arrange(there), 'XDG_DATA_HOME to a folder outside');
    expect(existsSync(join(there.workspace, 'audit'))).toBe(false);
  });

  it('are found from any folder: the inputs of a pending script are read in its own workspace', async () => {
    const { workspace, outside } = place();
    const env = { HOME: dirname(workspace), XDG_DATA_HOME: join(outside, 'data') };
    const { stdout } = await inProcess(WRITE, { cwd: workspace, env });
    const [id] = /scr_[\w-]+/u.exec(stdout) ?? [];
    const shown = await inProcess(['approvals', 'show', id!, '--json'], { cwd: outside, env });
    expect({ status: shown.status, stderr: shown.stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(shown.stdout)).toMatchObject({ workspace });
    expect(readFileSync(join(outside, 'data', 'toolscript', 'suspension.key'))).toHaveLength(32);
  });
});
