import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { maskSecrets } from '#cli/doctor/secrets.js';
import { inProcess } from '../support/in-process.js';
import { toolscript } from '../support/program.js';
import { newFolder } from '@toolscript/testkit/folder';

interface Place {
  cwd: string;
  env: Record<string, string>;
  configFile: string;
}

/** A workspace and a user's own folder, with the content of their files. */
function place(files: { own?: unknown; workspace?: unknown }): Place {
  const cwd = newFolder();
  const base = newFolder();
  mkdirSync(join(base, 'toolscript'));
  const configFile = join(base, 'toolscript', 'config.json');
  write(configFile, files.own);
  write(join(cwd, 'toolscript.config.json'), files.workspace);
  return { cwd, env: { XDG_CONFIG_HOME: base }, configFile };
}

function write(path: string, value: unknown): void {
  if (value !== undefined) writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
}

const SCRIPT =
  'return { ms: context.sandbox.timeoutMs, calls: context.sandbox.remainingToolBudget, tools: context.capabilities.tools }';

async function effective({ cwd, env }: Place, flags: string[] = [], extra: Record<string, string> = {}) {
  const { stdout, stderr, status } = await inProcess(['eval', '-e', SCRIPT, '--json', '--cwd', cwd, ...flags], {
    env: { ...env, ...extra },
  });
  const value =
    stdout === ''
      ? undefined
      : (JSON.parse(stdout) as { value?: { ms: number; calls: number; tools: string[] } }).value;
  return { value, stderr, status };
}

describe('configuration', () => {
  it('of the user applies, and the command line takes precedence over it', async () => {
    const there = place({
      own: { limits: { timeoutMs: 5_000, maxToolCalls: 7 }, expose: { tools: ['readFile', 'exec'] } },
    });
    expect((await effective(there)).value).toEqual({ ms: 5_000, calls: 7, tools: ['readFile', 'exec'] });
    expect((await effective(there, ['--limit', 'timeoutMs=6000', '--tools', 'listDir'])).value).toEqual({
      ms: 6_000,
      calls: 7,
      tools: ['listDir'],
    });
  });

  it('of a workspace applies only if the user has trusted it', async () => {
    const there = place({ workspace: { limits: { maxToolCalls: 3 } } });
    const before = await effective(there);
    expect(before.value?.calls).toBe(256);
    expect(before.stderr).toBe(
      `toolscript: ${join(there.cwd, 'toolscript.config.json')} is ignored, because you have not trusted the workspace. To trust it: toolscript trust ${there.cwd}\n`,
    );
    expect((await toolscript(['trust', there.cwd], { env: there.env })).stdout).toContain(
      'is trusted. Toolscript uses its toolscript.config.json from now on.',
    );
    expect((await toolscript(['trust', there.cwd], { env: there.env })).stdout).toContain('already trusted');
    const after = await effective(there);
    expect({ calls: after.value?.calls, stderr: after.stderr }).toEqual({ calls: 3, stderr: '' });
    await inProcess(['trust', there.cwd, '--remove'], { env: there.env });
    expect((await effective(there)).value?.calls).toBe(256);
    expect(readdirSync(join(there.configFile, '..', 'trusted'))).toEqual([]);
  });

  it('of a workspace loses no trust when many processes change trust at once', async () => {
    const { env } = place({});
    const folders = Array.from({ length: 8 }, () => newFolder());
    const trusted = await Promise.all(folders.map((folder) => toolscript(['trust', folder], { env })));
    expect(trusted.map(({ status }) => status)).toEqual(folders.map(() => 0));
    const again = () => Promise.all(folders.map((folder) => toolscript(['trust', folder], { env })));
    for (const { stdout } of await again()) expect(stdout).toContain('already trusted');
    const some = folders.slice(0, 4);
    await Promise.all(some.map((folder) => toolscript(['trust', folder, '--remove'], { env })));
    const counts = (await again()).map(({ stdout }) =>
      stdout.includes('is trusted. It has no toolscript.config.json yet'),
    );
    expect(counts).toEqual(folders.map((_folder, index) => index < 4));
  });

  it('of a workspace narrows and never widens', async () => {
    const there = place({
      own: { limits: { maxToolCalls: 10 }, expose: { tools: ['readFile', 'listDir'] } },
      workspace: { limits: { maxToolCalls: 20, timeoutMs: 1_000 }, expose: { tools: ['listDir', 'exec'] } },
    });
    await inProcess(['trust', there.cwd], { env: there.env });
    const { value, stderr } = await effective(there);
    expect(value).toEqual({ ms: 1_000, calls: 10, tools: ['listDir'] });
    expect(stderr).toContain('"limits.maxToolCalls" would widen');
  });

  it.each([
    ['approve', 'auto'],
    ['rules', [{ tool: 'exec', action: 'approve' }]],
  ])('of a workspace never decides approvals: %s', async (key, value) => {
    const there = place({});
    await inProcess(['trust', there.cwd], { env: there.env });
    writeFileSync(join(there.cwd, 'toolscript.config.json'), JSON.stringify({ [key]: value }));
    for (const { status, stderr } of [
      await effective(there),
      await inProcess(['trust', there.cwd], { env: there.env }),
    ]) {
      expect(status).toBe(2);
      expect(stderr).toContain(`a workspace cannot set "${key}"`);
    }
  });

  it.each([
    ['an unknown key', { aprove: 'auto' }, 'unknown key "aprove". Did you mean approve?'],
    [
      'an unknown key further in',
      { limits: { timeoutms: 1 } },
      'unknown key "limits.timeoutms". Did you mean timeoutMs?',
    ],
    [
      'an unknown key in a rule',
      { rules: [{ tol: 'exec', action: 'deny' }] },
      'unknown key "rules.0.tol". Did you mean tool?',
    ],
    ['a rule that decides nothing', { rules: [{ tool: 'exec', action: 'maybe' }] }, '"rules.0.action"'],
    ['a wrong value', { limits: { timeoutMs: 'soon' } }, '"limits.timeoutMs"'],
    ['something else than an object', [1], 'expected object'],
    ['no JSON', '{ "approve": ', 'is not JSON'],
  ])('with %s is an error that names the file, with status 2', async (_name, own, message) => {
    const there = place({ own });
    const { status, stderr } = await effective(there);
    expect(status).toBe(2);
    expect(stderr).toContain(there.configFile);
    expect(stderr).toContain(message);
  });

  it('may be TypeScript, instead of JSON', async () => {
    const there = place({});
    const code = join(there.configFile, '..', 'config.ts');
    writeFileSync(code, 'const mode: string = "disabled";\nexport default { mode };');
    expect((await effective(there)).status).toBe(1);
    writeFileSync(code, 'export default { mood: "disabled" };');
    const wrong = await effective(there);
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('unknown key "mood"');
    writeFileSync(there.configFile, '{}');
    const both = await effective(there);
    expect(both.status).toBe(2);
    expect(both.stderr).toContain('Remove one of them');
  });

  it('comes from the environment too', async () => {
    const there = place({ own: { approve: 'deny', mode: 'enabled' } });
    expect((await effective(there, [], { TOOLSCRIPT_MODE: 'disabled' })).status).toBe(1);
    expect((await effective(there, ['--mode', 'enabled'], { TOOLSCRIPT_MODE: 'disabled' })).status).toBe(0);
    const wrong = await effective(there, [], { TOOLSCRIPT_APPROVE: 'yes' });
    expect({ status: wrong.status, stderr: wrong.stderr }).toEqual({
      status: 2,
      stderr: 'toolscript: TOOLSCRIPT_APPROVE is "yes". Set it to auto, deny, ask, or unset it.\n',
    });
    expect((await effective(there, [], { TOOLSCRIPT_APROVE: 'auto' })).stderr).toContain(
      'Did you mean TOOLSCRIPT_APPROVE?',
    );
  });

  it('is shown by doctor with its sources', async () => {
    const there = place({ own: { approve: 'deny' } });
    const { stdout } = await toolscript(['doctor', '--json', '--cwd', there.cwd], { env: there.env });
    expect(JSON.parse(stdout)).toMatchObject({
      configuration: { approve: 'deny', cwd: there.cwd, sources: [there.configFile, 'defaults'] },
    });
  });

  it('is shown with secrets masked', () => {
    expect(maskSecrets({ apiKey: 'k', nested: [{ authToken: 't', name: 'n' }], password: '' })).toEqual({
      apiKey: '••••••',
      nested: [{ authToken: '••••••', name: 'n' }],
      password: '',
    });
  });

  it('is shown with secrets masked at any depth, in any case, under any secret’s name', () => {
    const canary = 'canary-7f3a';
    const shown = maskSecrets({
      API_KEYS: [canary, { deep: [canary] }],
      headers: [{ Authorization: `Bearer ${canary}`, COOKIE: canary }],
      Credentials: { user: { name: canary } },
      passphrase: 4711,
      addresses: [`https://me:${canary}@host/path`, `see http://host/?a=1&access_token=${canary}&b=2`],
      limits: { maxTokens: 5 },
      note: 'plain',
    });
    expect(JSON.stringify(shown)).not.toMatch(/canary|4711/u);
    expect(shown).toMatchObject({
      addresses: ['https://••••••@host/path', 'see http://host/?a=1&access_token=••••••&b=2'],
      limits: { maxTokens: 5 },
      note: 'plain',
    });
  });
});
