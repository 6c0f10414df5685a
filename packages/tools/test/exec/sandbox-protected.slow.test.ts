import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createExec } from '#tools/exec/exec.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { refusal } from '../support/temporary-folder.js';
import { sandboxProblem } from '@toolscript/testkit/exec-sandbox';
import { newFolder, put } from '@toolscript/testkit/folder';

const hasGit = spawnSync('git', ['--version']).status === 0;
if (!hasGit) console.log('Skipped: git is not installed.');
const inSandbox = describe.runIf(sandboxProblem === undefined);
const withGit = describe.runIf(sandboxProblem === undefined && hasGit);

const sh = (script: string): { command: string[] } => ({ command: ['sh', '-c', script] });

inSandbox('a protected name that a sandboxed command makes', () => {
  const folder = newFolder({ 'a.txt': '' });
  const stateFolder = newFolder();
  const exec = createExec(createWorkspace({ roots: folder, stateFolder }));

  it.each([
    '.vscode/tasks.json',
    '.claude/settings.json',
    '.envrc',
    '.husky/pre-commit',
    '.devcontainer/devcontainer.json',
    '.zed/tasks.json',
    '.windsurf/rules',
    '.opencode/config',
    '.cursor/mcp.json',
    '.idea/workspace.xml',
    '.mcp.json',
    'toolscript.config.json',
    '.bashrc',
    '.git',
    '.VSCode/tasks.json',
    'Toolscript.Config.JSON',
    '.config/fish/config.fish',
    'deep/down/below/.vscode/tasks.json',
    'node_modules/x/.git',
  ])('is moved away and told, at any depth and in any case: %s', async (path) => {
    const result = await exec(sh(`mkdir -p '${dirname(path)}' && echo hostile > '${path}'`));
    expect(result.exitCode).toBe(0);
    expect(result.quarantined).toHaveLength(1);
    expect(existsSync(join(folder, path))).toBe(false);
    const name = /moved it to its quarantine folder as '(.*)'\.$/.exec(result.quarantined![0]!)![1]!;
    expect(existsSync(join(stateFolder, 'quarantine', name))).toBe(true);
  });

  it('stays if it is not new, or if the host allows it', async () => {
    const folder = newFolder({ '.vscode/tasks.json': 'mine', 'sub/.envrc': 'mine' });
    const some = createExec(createWorkspace({ roots: folder }));
    expect(await some(sh('echo x > file'))).not.toHaveProperty('quarantined');
    const lifted = createExec(createWorkspace({ roots: folder, unprotected: ['.vscode', '.idea'] }));
    const result = await lifted(sh('echo new > .vscode/tasks.json; mkdir .idea'));
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result).not.toHaveProperty('quarantined');
    expect(readFileSync(join(folder, '.vscode/tasks.json'), 'utf8')).toBe('new\n');
  });

  it('is found as a link, as a renamed folder, and in a folder that was closed or created again', async () => {
    const folder = newFolder({ 'plain/tasks.json': '', 'app/.vscode/tasks.json': 'mine' });
    const exec = createExec(createWorkspace({ roots: folder }));
    const result = await exec(
      sh(
        'mv plain .zed; ln -s a.txt .envrc; mkdir -p closed/.idea other/inner/.zed; chmod 000 closed other/inner other; mv app old && mkdir -p app/.vscode; chmod 555 app',
      ),
    );
    expect(result.quarantined).toHaveLength(6);
    for (const path of ['.zed', '.envrc', 'closed/.idea', 'other/inner/.zed', 'app/.vscode', 'old/.vscode'])
      expect(lstatSync(join(folder, path), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('is found by an ordinary user too, in nested closed folders', () => {
    const folder = newFolder({ 'own/x': '', 'away/x': '' });
    const code = `
      const { mkdirSync, chmodSync, existsSync, statSync } = await import('node:fs');
      const { Guard } = await import(${JSON.stringify(fileURLToPath(import.meta.resolve('#tools/exec/sandbox/guard.js')))});
      const [guard, root] = [new Guard(), ${JSON.stringify(join(folder, 'own'))}];
      for (const path of ['/private', '/opened']) mkdirSync(root + path, { mode: 0o000 });
      const guarded = guard.before({ roots: [root], unprotected: new Set(), absent: [], quarantine: ${JSON.stringify(join(folder, 'away'))} });
      mkdirSync(root + '/one/two/.zed', { recursive: true });
      mkdirSync(root + '/other/.idea', { recursive: true });
      mkdirSync(root + '/shut/.theia', { recursive: true });
      for (const path of ['/one/two', '/one', '/other', '/shut/.theia']) chmodSync(root + path, 0o000);
      chmodSync(root + '/shut', 0o555);
      chmodSync(root + '/opened', 0o700);
      mkdirSync(root + '/opened/.fleet');
      chmodSync(root + '/opened', 0o000);
      const { moved, unchecked } = guard.after(guarded);
      const gone = moved.map(({ path }) => path).filter((path) => !existsSync(path));
      console.log(...gone.map((path) => path.slice(root.length)).sort(), unchecked.length, statSync(root + '/private').mode & 0o777);`;
    const user = process.geteuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
    if (user.length > 0) {
      chmodSync(folder, 0o755);
      for (const path of ['own', 'away']) chownSync(join(folder, path), 65_534, 65_534);
    }
    const guard = fileURLToPath(import.meta.resolve('#tools/exec/sandbox/guard.js'));
    const trial = [...user, process.execPath, '--check', guard];
    if (spawnSync(trial[0]!, trial.slice(1)).status !== 0)
      return console.log('Skipped: no other user can be had here, or it cannot read this folder.');
    const argv = [...user, process.execPath, '--input-type=module', '-e', code];
    const { stdout, stderr } = spawnSync(argv[0]!, argv.slice(1), { cwd: '/', encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({
      stdout: '/one/two/.zed /opened/.fleet /other/.idea /shut/.theia 0 0\n',
      stderr: '',
    });
  });

  it('is moved away too when the call is aborted', async () => {
    const folder = newFolder();
    const exec = createExec(createWorkspace({ roots: folder }));
    const controller = new AbortController();
    const call = refusal(() => exec(sh('mkdir .vscode; touch made; sleep 60'), { signal: controller.signal }));
    while (!existsSync(join(folder, 'made'))) await sleep(10);
    controller.abort();
    const error = await call;
    expect(error.data).toMatchObject({ reason: 'aborted', quarantined: [expect.stringContaining("'.vscode'")] });
    expect(error.message).toContain('moved it to its quarantine folder');
    expect(readdirSync(folder).filter((name) => name === '.vscode')).toEqual([]);
  });

  it('is moved away too when the host is killed', async () => {
    const [folder, stateFolder] = [newFolder(), newFolder()];
    const module = (path: string): string => JSON.stringify(fileURLToPath(import.meta.resolve(path)));
    const code = `
      const { createExec } = await import(${module('#tools/exec/exec.js')});
      const { createWorkspace } = await import(${module('#tools/files/workspace.js')});
      await createExec(createWorkspace(${JSON.stringify({ roots: folder, stateFolder })}))({ command: ['sh', '-c', 'mkdir .vscode; touch made; sleep 60'] });`;
    const host = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
    while (!existsSync(join(folder, 'made'))) await sleep(10);
    host.kill('SIGKILL');
    for (let round = 0; round < 500 && existsSync(join(folder, '.vscode')); round += 1) await sleep(10);
    expect(readFileSync(join(stateFolder, 'quarantine/origins.jsonl'), 'utf8')).toContain(join(folder, '.vscode'));
  });
});

inSandbox('what others execute or obey and was there before', () => {
  it('cannot be changed at any depth', async () => {
    const paths = ['.vscode/tasks.json', 'packages/a/.envrc', 'app/[id]/.claude/settings.json', 'sub/.git', '.npmrc'];
    const folder = newFolder(Object.fromEntries(paths.map((path) => [path, 'mine'])));
    const exec = createExec(createWorkspace({ roots: folder }));
    for (const path of paths) expect((await exec(sh(`echo changed > '${path}'`))).exitCode).not.toBe(0);
    for (const path of paths) expect(readFileSync(join(folder, path), 'utf8')).toBe('mine');
  });

  it('cannot be changed through a link', async () => {
    const folder = newFolder({ 'shared/tasks.json': 'mine' });
    symlinkSync('shared', join(folder, '.vscode'));
    const exec = createExec(createWorkspace({ roots: folder }));
    await exec(sh('echo changed > shared/tasks.json'));
    expect(readFileSync(join(folder, 'shared/tasks.json'), 'utf8')).toBe('mine');
  });

  it('stays hidden if the workspace is a home folder', async () => {
    const home = newFolder({ '.ssh/key': 'canary-key', '.claude/settings.json': 'canary-key' });
    const real = process.env['HOME'];
    process.env['HOME'] = home;
    try {
      const exec = createExec(createWorkspace({ roots: home }));
      expect((await exec(sh('grep -rs canary-key .'))).stdout).toBe('');
    } finally {
      process.env['HOME'] = real;
    }
  });
});

const HOSTILE = '[core]\n\tfsmonitor = touch ran; false\n\tbare = false\n[alias]\n\tx = !touch ran\n';

/** A repository with one commit, and a file that its configuration could make. */
function repository(): string {
  const folder = newFolder({ 'a.txt': 'a\n', 'src/b.txt': 'b\n' });
  git(folder, 'init', '-q');
  git(folder, 'add', '.');
  git(folder, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'first');
  return folder;
}

function git(folder: string, ...args: string[]): string {
  const environment = { ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const { stdout } = spawnSync('git', args, { cwd: folder, env: environment, encoding: 'utf8' });
  return stdout;
}

withGit('after a sandboxed command, no program of its choice is run by git', () => {
  const write = (path: string, text: string): string =>
    `mkdir -p "$(dirname ${path})"; printf '%s' '${text}' > ${path}`;
  const bare = (place: string): string =>
    `mkdir -p ${place}/objects ${place}/refs; echo 'ref: refs/heads/main' > ${place}/HEAD; ${write(`${place}/config`, HOSTILE)}`;

  it.each<[string, string, string]>([
    ['another configuration by commondir', `${bare('own')}; echo ../own > .git/commondir`, '.'],
    ['the configuration itself', write('.git/config', HOSTILE), '.'],
    ['the configuration, after the repository was moved', `mv .git moved; ${bare('.git')}`, '.'],
    [
      'the configuration of working folders',
      `git config extensions.worktreeConfig true; ${write('.git/config.worktree', HOSTILE)}`,
      '.',
    ],
    ['a hook', `${write('.git/hooks/post-index-change', '#!/bin/sh\ntouch ran\n')}; chmod +x .git/hooks/*`, '.'],
    ['a repository in a folder below', `cd src && git init -q && ${write('.git/config', HOSTILE)}`, 'src'],
    [
      'a hook of a repository that the command makes',
      `cd src && git init -q && ${write('.git/hooks/post-index-change', '#!/bin/sh\ntouch ran\n')}; chmod +x .git/hooks/*`,
      'src',
    ],
    ['a pointer to a repository', `${bare('own')}; echo 'gitdir: ../own' > src/.git`, 'src'],
    ['a link to a repository', `${bare('own')}; ln -s ../own src/.git`, 'src'],
    [
      'a repository among packages',
      `mkdir -p node_modules/x; cd node_modules/x; git init -q; ${write('.git/config', HOSTILE)}`,
      'node_modules/x',
    ],
  ])('%s', async (_, script, place) => {
    const folder = repository();
    const exec = createExec(createWorkspace({ roots: folder }));
    await exec(sh(script));
    git(join(folder, place), 'status');
    git(join(folder, place), 'add', '.');
    git(folder, 'status');
    const made = execFileSync('find', [folder, '-name', 'ran'], { encoding: 'utf8' });
    expect(made).toBe('');
  });

  it('a git file that refers to another place is moved away, whatever that place', async () => {
    const folder = repository();
    await createExec(createWorkspace({ roots: folder }))(sh('echo ../nowhere > .git/commondir'));
    expect(existsSync(join(folder, '.git/commondir'))).toBe(false);
  });

  it('the configuration of submodules and of other worktrees is protected too', async () => {
    const folder = repository();
    put(folder, '.git/modules/deep/one/HEAD', 'ref: refs/heads/main\n');
    put(folder, '.git/modules/deep/one/config', '[core]\n\tworktree = ../../../../one\n');
    put(folder, '.git/worktrees/two/commondir', '../..\n');
    const exec = createExec(createWorkspace({ roots: folder }));
    for (const file of ['modules/deep/one/config', 'worktrees/two/commondir']) {
      const before = readFileSync(join(folder, '.git', file), 'utf8');
      expect((await exec(sh(`echo changed > .git/${file}`))).exitCode).not.toBe(0);
      expect(readFileSync(join(folder, '.git', file), 'utf8')).toBe(before);
    }
    const made = await exec(
      sh(
        `cd .git; mkdir -p modules/new worktrees/three; echo ref > modules/new/HEAD; printf '[core]\\nfsmonitor=x\\n' > modules/new/config; echo x > worktrees/three/gitdir`,
      ),
    );
    expect(made.quarantined).toHaveLength(2);
  });

  it('a folder that imitates a repository loses its configuration', async () => {
    const folder = repository();
    const exec = createExec(createWorkspace({ roots: folder }));
    expect((await exec(sh(bare('src')))).quarantined).toEqual([expect.stringContaining("'src/config'")]);
    expect(existsSync(join(folder, 'src/config'))).toBe(false);
  });

  it('is protected in a root below the top of a repository', async () => {
    const folder = repository();
    const exec = createExec(createWorkspace({ roots: join(folder, 'src') }));
    const result = await exec(sh(`git init -q && ${write('.git/config', HOSTILE)}`));
    expect(result.quarantined).toHaveLength(1);
    git(join(folder, 'src'), 'status');
    expect(existsSync(join(folder, 'src/ran'))).toBe(false);
  });
});

withGit('ordinary git work in the sandbox', () => {
  it('adds, commits, makes branches and stashes; nothing is moved away', async () => {
    const folder = repository();
    const exec = createExec(createWorkspace({ roots: folder }));
    const result = await exec(
      sh(
        'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; echo x > c.txt && git add . && git commit -qm second && git switch -qc other && echo y > c.txt && git stash -q && git log --oneline | wc -l',
      ),
    );
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout.trim()).toBe('2');
    expect(result).not.toHaveProperty('quarantined');
    expect(git(folder, 'log', '--oneline').trim().split('\n')).toHaveLength(2);
  });

  it('creates and clones repositories that the next command can use', async () => {
    const folder = newFolder({ 'a.txt': '' });
    const exec = createExec(createWorkspace({ roots: folder }));
    expect(await exec(sh('git init -q && git init -q --bare store.git'))).not.toHaveProperty('quarantined');
    const next = await exec(sh('git add a.txt && git status --short; git clone -q store.git copy'));
    expect(next.stdout).toBe('A  a.txt\n?? store.git/\n');
    expect(next).not.toHaveProperty('quarantined');
    expect((await exec(sh('git config core.fsmonitor x'))).exitCode).not.toBe(0);
  });
});
