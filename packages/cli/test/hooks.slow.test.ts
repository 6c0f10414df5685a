import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newFolder } from '@toolscript/testkit/folder';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runHook } from '#cli/hooks/run-hook.js';
import { Scene, script, text } from './chat/scene.js';

function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function program(body: string): string {
  const path = join(newFolder(), 'hook.sh');
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that nobody has waited for still has an entry.
    return !/\) Z /u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

function hooked(hooks: object): Scene {
  const scene = new Scene();
  put(scene.ownFile('config.json'), JSON.stringify({ hooks }));
  return scene;
}

const WRITE = `return await tools.writeFile({ path: 'a.txt', content: 'x' }).catch((error) => error.message)`;

describe('a hook', () => {
  it('before a call reads the call as JSON, and lets it run with status 0', async () => {
    const seen = join(newFolder(), 'seen');
    const scene = hooked({ beforeCall: [{ command: [program(`cat > ${seen}`)] }] });
    const { status } = await scene.chat('Go.', [script(WRITE), text('Done.')], ['--approve', 'auto']);
    expect(status).toBe(0);
    const input = { path: 'a.txt', content: 'x' };
    expect(JSON.parse(readFileSync(seen, 'utf8'))).toMatchObject({ event: 'before_call', tool: 'writeFile', input });
    expect(existsSync(join(scene.workspace, 'a.txt'))).toBe(true);
  });

  it('before a call refuses it with its own words, for the tools that it names', async () => {
    const hook = program('echo "No files on Friday." >&2; exit 1');
    const scene = hooked({ beforeCall: [{ tools: ['writeFile'], command: [hook] }] });
    const list = 'await tools.listDir({}); ';
    const { stdout } = await scene.chat('Go.', [script(`${list}${WRITE}`), text('Done.')], ['--approve', 'auto']);
    expect(stdout).toContain('A hook refused the call to writeFile: No files on Friday.');
    expect(stdout).toContain('✓ listDir');
    expect(existsSync(join(scene.workspace, 'a.txt'))).toBe(false);
  });

  it('that cannot run refuses the call', async () => {
    const scene = hooked({ beforeCall: [{ command: ['no-such-program-here'] }] });
    const { stdout } = await scene.chat('Go.', [script(WRITE), text('Done.')], ['--approve', 'auto']);
    expect(stdout).toContain(
      'A hook refused the call to writeFile: The hook no-such-program-here could not be started',
    );
    expect(existsSync(join(scene.workspace, 'a.txt'))).toBe(false);
  });

  it('after a script and at the end reads their outcomes, and its failure changes nothing', async () => {
    const log = join(newFolder(), 'log');
    const hook = { command: [program(`cat >> ${log}; exit 3`)] };
    const scene = hooked({ afterScript: [hook], atEnd: [hook] });
    const { status, stderr } = await scene.chat('Go.', [script(WRITE), text('Done.')], ['--approve', 'auto']);
    expect(status).toBe(0);
    expect(stderr).toContain('ended with 3');
    const events = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(events).toMatchObject([
      { event: 'after_script', status: 'completed', calls: [{ tool: 'writeFile', status: 'completed' }] },
      { event: 'end', status: 'completed', answer: 'Done.' },
    ]);
  });

  it('never gets a secret of the environment', async () => {
    process.env['SOME_API_KEY'] = 'the secret';
    onTestFinished(() => void delete process.env['SOME_API_KEY']);
    const seen = join(newFolder(), 'seen');
    expect(await runHook({ command: [program(`env > ${seen}`)] }, {}, newFolder())).toBeUndefined();
    expect(readFileSync(seen, 'utf8')).toContain('PATH=');
    expect(readFileSync(seen, 'utf8')).not.toContain('the secret');
  });

  it('ends at its time limit, with the programs that it started', async () => {
    const pid = join(newFolder(), 'pid');
    const hook = {
      command: [program(`sleep 3600 & echo $! > ${pid}.new; mv ${pid}.new ${pid}; wait`)],
      timeoutMs: 5_000,
    };
    expect(await runHook(hook, {}, newFolder())).toContain('did not end within');
    await vi.waitFor(() => expect(isRunning(Number(readFileSync(pid, 'utf8')))).toBe(false), 60_000);
  });

  it('is never a program of the workspace', async () => {
    const workspace = newFolder();
    writeFileSync(join(workspace, 'hook.sh'), '#!/bin/sh\n', { mode: 0o755 });
    expect(await runHook({ command: ['./hook.sh'] }, {}, workspace)).toContain('has a relative path');
  });
});

describe('a hook of a workspace', () => {
  const configure = (scene: Scene, hooks: object, more = {}) =>
    put(join(scene.workspace, 'toolscript.config.json'), JSON.stringify({ hooks, ...more }));

  it('runs only while the user trusts the exact text of its file', async () => {
    const scene = new Scene();
    const log = join(newFolder(), 'log');
    const hook = program(`cat >> ${log}`);
    const hooks = {
      beforeCall: [{ command: [hook] }],
      afterScript: [{ command: [hook] }],
      atEnd: [{ command: [hook] }],
    };
    const say = () => scene.chat('Go.', [script(WRITE), text('Done.')], ['--approve', 'auto']);
    await scene.run(['trust']);
    configure(scene, hooks);
    expect((await say()).stderr).toContain('are ignored, because you have not trusted them. Read them; to trust them:');
    expect((await scene.run(['trust'])).stderr).toContain('Read the commands above, then add --yes.');
    expect((await say()).stderr).toContain('have not trusted them');
    expect(existsSync(log)).toBe(false);
    const trusted = await scene.run(['trust', '--yes']);
    expect(trusted.stdout).toContain(`beforeCall: {"command":["${hook}"]}`);
    expect(await say()).toMatchObject({ status: 0, stderr: '' });
    const events = readFileSync(log, 'utf8').match(/"event":"\w+"/gu);
    expect(events).toEqual(['before_call', 'after_script', 'end'].map((event) => `"event":"${event}"`));
    configure(scene, hooks, { limits: {} });
    expect((await say()).stderr).toContain('are ignored, because the file has changed since you trusted them.');
    await scene.run(['trust', '--remove']);
    expect((await say()).stderr).toContain('is ignored, because you have not trusted the workspace');
    expect(readFileSync(log, 'utf8').match(/"event":"\w+"/gu)).toEqual(events);
  });

  it('runs after those of the user, in an empty folder', async () => {
    const log = join(newFolder(), 'log');
    const hook = (name: string) => ({ command: [program(`echo "${name} $(ls -A)" >> ${log}`)] });
    const scene = hooked({ atEnd: [hook('own')] });
    configure(scene, { atEnd: [hook('theirs')] });
    await scene.run(['trust', '--yes']);
    await scene.chat('Go.', [text('Done.')]);
    expect(readFileSync(log, 'utf8')).toBe('own toolscript.config.json\ntheirs \n');
  });

  it('never runs what scripts can change, and then refuses the call', async () => {
    for (const words of [
      ['sh', './check.sh'],
      ['sh', '-c', 'WORKSPACE/check.sh'],
    ]) {
      const scene = new Scene();
      const ran = join(newFolder(), 'ran');
      put(join(scene.workspace, 'check.sh'), `#!/bin/sh\ntouch ${ran}\n`);
      chmodSync(join(scene.workspace, 'check.sh'), 0o755);
      const command = words.map((word) => word.replace('WORKSPACE', scene.workspace));
      configure(scene, { beforeCall: [{ command }] });
      await scene.run(['trust', '--yes']);
      const { stdout } = await scene.chat('Go.', [script(WRITE), text('Done.')], ['--approve', 'auto']);
      expect(stdout).toContain('which is in the workspace, where scripts can change files');
      expect([existsSync(ran), existsSync(join(scene.workspace, 'a.txt'))]).toEqual([false, false]);
    }
  });
});
