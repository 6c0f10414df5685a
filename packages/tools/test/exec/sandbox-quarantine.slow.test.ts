import { spawnSync } from 'node:child_process';
import {
  existsSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createExec, type Exec } from '#tools/exec/exec.js';
import { FolderReader } from '#tools/exec/sandbox/folder-reader.js';
import { Quarantine } from '#tools/exec/sandbox/quarantine.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { refusal } from '../support/temporary-folder.js';
import { sandboxProblem } from '@toolscript/testkit/exec-sandbox';
import { newFolder } from '@toolscript/testkit/folder';

const hasGit = spawnSync('git', ['--version']).status === 0;
const inSandbox = describe.runIf(sandboxProblem === undefined);
const withGit = describe.runIf(sandboxProblem === undefined && hasGit);

const sh = (script: string): { command: string[] } => ({ command: ['sh', '-c', script] });

interface Place {
  readonly folder: string;
  readonly exec: Exec;
  /** The names in the quarantine folder. */
  readonly away: () => string[];
  /** Removes both folders, whose paths may be too long for Node.js. */
  readonly removeAll: () => void;
}

function workspace(files: Readonly<Record<string, string>> = {}, folder = newFolder(files)): Place {
  const stateFolder = newFolder();
  const away = (): string[] =>
    existsSync(join(stateFolder, 'quarantine'))
      ? readdirSync(join(stateFolder, 'quarantine')).filter((name) => name !== 'origins.jsonl')
      : [];
  const removeAll = (): void => void spawnSync('rm', ['-rf', folder, stateFolder]);
  return { folder, exec: createExec(createWorkspace({ roots: folder, stateFolder })), away, removeAll };
}

function git(folder: string, ...args: string[]): string {
  const environment = {
    ...process.env,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_EDITOR: 'true',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  const { stdout, stderr } = spawnSync('git', args, { cwd: folder, env: environment, encoding: 'utf8' });
  return stdout + stderr;
}

function repository(): Place {
  const place = workspace({ 'a.txt': 'a\n' });
  git(place.folder, 'init', '-q', '-b', 'main');
  git(place.folder, 'add', '.');
  git(place.folder, 'commit', '-qm', 'first');
  return place;
}

const HOSTILE_REPOSITORY =
  'git init -q && printf \'[core]\\n\\tfsmonitor = touch %s/ran; false\\n\' "$PWD" >> .git/config';

inSandbox('a new protected entry', () => {
  it('is moved away as one unit, however deep its content is nested', async () => {
    const { folder, exec, away } = workspace();
    const nested = Array(9).fill('.vscode/x').join('/');
    const result = await exec(sh(`mkdir -p ${nested}/.git; echo x > ${nested}/.git/config; chmod 000 .vscode/x`));
    expect(result.quarantined).toEqual([expect.stringContaining("'.vscode'")]);
    expect(readdirSync(folder)).toEqual([]);
    expect(away()).toEqual([expect.stringMatching(/^[0-9a-f]{12}-\.vscode$/)]);
  });

  it.each([
    ['an existing one, by its folder', 'mv fixtures/one app'],
    ['a folder above it', 'mv fixtures app'],
    ['a copy', 'mkdir app; cp -r fixtures/one app'],
  ])('is also one that was moved into place: %s', async (_, script) => {
    const { folder, exec } = workspace({ 'fixtures/one/.vscode/tasks.json': 'fixture' });
    const result = await exec(sh(script));
    expect(result.quarantined).toHaveLength(1);
    const left = spawnSync('find', [join(folder, 'app'), '-name', '.vscode'], { encoding: 'utf8' });
    expect(left.stdout).toBe('');
  });

  it('is also a link that leads to one, outside of package folders', async () => {
    const { folder, exec } = workspace({ 'fixtures/one/.vscode/tasks.json': 'fixture', 'src/x': '' });
    symlinkSync('fixtures/one', join(folder, 'mine'));
    const script =
      'ln -s fixtures/one app; ln -s src other; ln -s . here; mkdir node_modules; ln -s ../fixtures/one node_modules/one';
    expect((await exec(sh(script))).quarantined).toEqual([expect.stringContaining("'app'")]);
    expect(readdirSync(folder).toSorted()).toEqual(['fixtures', 'here', 'mine', 'node_modules', 'other', 'src']);
  });

  it('leaves the workspace too if the quarantine folder is on another file system', () => {
    const shared = '/dev/shm';
    const folder = newFolder({ '.vscode/deep/tasks.json': 'x' });
    if (!existsSync(shared) || statSync(shared).dev === statSync(folder).dev)
      return console.log('Skipped: there is no second file system here.');
    const away = join(shared, `toolscript-test-${process.pid}`);
    try {
      const name = new Quarantine(away).take(join(folder, '.vscode'), 'a reason')!;
      expect(readFileSync(join(away, name, 'deep/tasks.json'), 'utf8')).toBe('x');
      expect(readdirSync(folder)).toEqual([]);
      expect(JSON.parse(readFileSync(join(away, 'origins.jsonl'), 'utf8'))).toMatchObject({
        name,
        path: join(folder, '.vscode'),
      });
    } finally {
      spawnSync('rm', ['-rf', away]);
    }
  });

  it('ends the command with an error if it cannot be moved', async () => {
    // No folder can be made at the path of this file.
    const [folder, stateFolder] = [newFolder(), newFolder({ quarantine: '' })];
    const exec = createExec(createWorkspace({ roots: folder, stateFolder }));
    const error = await refusal(() => exec(sh('echo said; mkdir .vscode')));
    expect(error.message).toContain("'.vscode'");
    expect(error.message).toContain('could not be moved away');
    expect(error.data).toMatchObject({ reason: 'unavailable', result: { exitCode: 0, stdout: 'said\n' } });
  });

  it('is a link that stands for the first of two names', async () => {
    const { folder, exec } = workspace();
    const result = await exec(sh('mkdir plain; echo x > plain/hgrc; ln -s plain .hg'));
    expect(result.quarantined).toHaveLength(1);
    expect(readdirSync(folder)).toEqual(['plain']);
  });

  it('is found in a folder whose name is not UTF-8', async () => {
    const { folder, exec, away } = workspace();
    const result = await exec(sh(`d=$(printf 'x\\377y'); mkdir -p "$d/.vscode"; echo x > "$d/.vscode/tasks.json"`));
    expect(result.quarantined).toHaveLength(1);
    expect(away()).toHaveLength(1);
    const again = await exec(sh('find . -name tasks.json'));
    expect(again).toMatchObject({ stdout: '' });
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it('is a link whose target the command exchanged', async () => {
    const { folder, exec } = workspace({ 'lib/settings/tasks.json': 'mine' });
    symlinkSync('lib/settings', join(folder, '.vscode'));
    const result = await exec(sh('mv lib old; mkdir -p lib/settings; echo hostile > lib/settings/tasks.json'));
    expect(result.quarantined).toEqual([expect.stringContaining("'.vscode'")]);
  });
});

inSandbox('a place that cannot be checked', () => {
  const deep = (levels: number): string =>
    `n=$(printf 'a%.0s' $(seq 200)); i=0; while [ $i -lt ${levels} ]; do mkdir $n && cd $n; i=$((i+1)); done`;

  it('because its path is too long is moved away, and ends the command with an error', async () => {
    const { folder, exec, away, removeAll } = workspace();
    const error = await refusal(() => exec(sh(`mkdir top; cd top; ${deep(30)}; mkdir .vscode`)));
    expect(error.message).toContain('its path is too long');
    expect(error.data).toMatchObject({ reason: 'unavailable', result: { exitCode: 0 } });
    expect(readdirSync(folder)).toEqual([]);
    expect(away()).toHaveLength(1);
    removeAll();
  });

  it('does not prevent later commands when it was moved to a quarantine folder in the workspace', async () => {
    const folder = newFolder();
    const exec = createExec(createWorkspace({ roots: folder, stateFolder: join(folder, 'state') }));
    await refusal(() => exec(sh(`mkdir top; cd top; ${deep(30)}`)));
    expect(await exec(sh('true'))).toMatchObject({ exitCode: 0 });
    spawnSync('rm', ['-rf', folder]);
  });

  it('inside a repository that was there before is only reported', async () => {
    const { folder, exec, away, removeAll } = workspace({
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/refs/heads/x': '',
    });
    const error = await refusal(() => exec(sh(`cd .git/refs; ${deep(30)}`)));
    expect(error.message).toContain('its path is too long');
    expect(existsSync(join(folder, '.git/refs/heads/x'))).toBe(true);
    expect(away()).toEqual([]);
    removeAll();
  });

  it('and was there before prevents a command', async () => {
    const { folder, exec, removeAll } = workspace({ 'top/x': '' });
    spawnSync('sh', ['-c', deep(30)], { cwd: join(folder, 'top') });
    const error = await refusal(() => exec(sh('touch made')));
    expect(error.message).toMatch(/^The command was not run\..*its path is too long/);
    expect(existsSync(join(folder, 'made'))).toBe(false);
    removeAll();
  });

  it('is reported when the search reaches its bound', () => {
    const folder = newFolder({ 'a/x': '', 'b/x': '', 'c/x': '' });
    const reader = new FolderReader({ maxFolders: 2 });
    expect(['a', 'b', 'c'].map((name) => reader.list(join(folder, name))?.length)).toEqual([1, 1, undefined]);
    expect(reader.unchecked).toEqual([expect.objectContaining({ reason: 'the workspace has too many folders' })]);
  });
});

withGit('after sandboxed commands, git runs no program of their choice', () => {
  it('from a repository that one command hides and the next one moves', async () => {
    const { folder, exec } = repository();
    const nested = '.a/.vscode/.vscode/.vscode/.vscode/.vscode';
    await exec(sh(`mkdir -p ${nested}/x && cd ${nested}/x && ${HOSTILE_REPOSITORY}`));
    await exec(sh(`mv ${nested}/x .; mv .a/.vscode/.vscode/.vscode/.vscode out; true`));
    git(folder, 'status');
    if (existsSync(join(folder, 'x'))) git(join(folder, 'x'), 'status');
    expect(spawnSync('find', [folder, '-name', 'ran'], { encoding: 'utf8' }).stdout).toBe('');
  });

  it.each([
    ['from the plan of a rebase in progress', true],
    ['from the plan of a rebase that the command invents', false],
  ])('%s', async (_, isRunning) => {
    const { folder, exec } = repository();
    if (isRunning) {
      git(folder, 'switch', '-qc', 'side');
      writeFileSync(join(folder, 'a.txt'), 'side\n');
      git(folder, 'commit', '-qam', 'side');
      git(folder, 'switch', '-q', 'main');
      writeFileSync(join(folder, 'a.txt'), 'main\n');
      git(folder, 'commit', '-qam', 'main');
      git(folder, 'rebase', 'side');
      expect(existsSync(join(folder, '.git/rebase-merge'))).toBe(true);
    }
    const result = await exec(
      sh(
        'mkdir -p .git/rebase-merge; cd .git/rebase-merge; echo "exec touch ran" >> git-rebase-todo; touch interactive; for f in onto head orig-head; do [ -e $f ] || cp ../refs/heads/main $f; done; [ -e head-name ] || echo refs/heads/main > head-name; cd ../..; echo main > a.txt',
      ),
    );
    expect(result.quarantined).toEqual(isRunning ? undefined : [expect.stringContaining("'.git/rebase-merge'")]);
    git(folder, 'add', '.');
    git(folder, 'rebase', '--continue');
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it.each([
    ['a log that is a link', 'ln -sf ../../../target .git/logs/HEAD', '.git/logs/HEAD'],
    ['an index that is a link', 'mv .git/index moved; ln -s ../moved .git/index', '.git/index'],
    ['an address for fetch', 'mkdir -p .git/branches; echo "ext::sh -c x" > .git/branches/origin', '.git/branches'],
    ['a file that git does not write', 'touch .git/unknown', '.git/unknown'],
    ['a folder that git does not write', 'mkdir .git/sequencer', '.git/sequencer'],
    ['a pipe', 'rm .git/index; mkfifo .git/index', '.git/index'],
    ['a submodule that is a link', 'mkdir -p .git/modules bad; ln -s ../../bad .git/modules/one', '.git/modules/one'],
    [
      'a worktree that is a link',
      'mkdir -p .git/worktrees bad; ln -s ../../bad .git/worktrees/one',
      '.git/worktrees/one',
    ],
    [
      'a control file of a repository without a dot',
      'git init -q --bare bare; echo x > bare/commondir',
      'bare/commondir',
    ],
    [
      'a new repository with hooks that are a link',
      'git init -q sub; rm -r sub/.git/hooks; mkdir own; ln -s ../../own sub/.git/hooks',
      'sub/.git',
    ],
    ['a new repository as a whole', `mkdir sub; cd sub; ${HOSTILE_REPOSITORY}`, 'sub/.git'],
    ['a repository at another place', 'mv own moved', 'moved/.git'],
  ])('%s is moved away', async (_, script, path) => {
    const { folder, exec } = repository();
    git(folder, 'init', '-q', 'own');
    git(join(folder, 'own'), 'config', 'alias.x', 'status');
    const result = await exec(sh(script));
    expect(result.quarantined).toEqual([expect.stringContaining(`'${path}'`)]);
    expect(readdirSync(join(folder, path, '..'))).not.toContain(path.split('/').at(-1));
  });

  it('and the data of ordinary work stays', async () => {
    const { folder, exec } = repository();
    const result = await exec(
      sh(
        `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_EDITOR=true
        git switch -qc side && echo side > b.txt && git add . && git commit -qm side && git switch -q main && echo main > c.txt && git add . && git commit -qm main
        git rebase -q side && git merge -q --no-ff -m merged HEAD~1; git tag one && git tag -am two two && git notes add -m note && git cherry-pick --no-commit side
        git reset -q --hard && git stash list && git bisect start && git bisect reset 2>&1 && git gc -q && git worktree prune && git clone -q . copy && rm -rf copy`,
      ),
    );
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result).not.toHaveProperty('quarantined');
    git(folder, 'merge', '-q', 'side');
    const conflict = await exec(
      sh(
        `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        git switch -qc other HEAD~1 && echo other > a.txt && git commit -qam other && git switch -q main && echo mine > a.txt && git commit -qam mine && git merge -q other; git status --short`,
      ),
    );
    expect(conflict.stdout).toContain('UU a.txt');
    expect(conflict).not.toHaveProperty('quarantined');
  });
});

inSandbox('a command', () => {
  it('does not get descriptors that the host process inherited', () => {
    const [folder, secrets] = [newFolder(), newFolder({ secret: 'canary' })];
    const module = (path: string): string => JSON.stringify(fileURLToPath(import.meta.resolve(path)));
    const script =
      'for n in 9 40; do cat /proc/self/fd/$n/secret; echo x > /proc/self/fd/$n/made; done; ls -l /proc/self/fd';
    const code = `
      const { createExec } = await import(${module('#tools/exec/exec.js')});
      const { createWorkspace } = await import(${module('#tools/files/workspace.js')});
      const exec = createExec(createWorkspace(${JSON.stringify({ roots: folder, stateFolder: newFolder() })}));
      console.log((await exec({ command: ['sh', '-c', ${JSON.stringify(script)}] })).stdout);`;
    const secretFolder = openSync(secrets, 'r');
    const argv = ['--input-type=module', '-e', code];
    const unused = (count: number): 'ignore'[] => Array<'ignore'>(count).fill('ignore');
    const { stdout } = spawnSync(process.execPath, argv, {
      stdio: ['ignore', 'pipe', 'pipe', ...unused(6), secretFolder, ...unused(30), secretFolder],
      encoding: 'utf8',
    });
    closeSync(secretFolder);
    expect(stdout).toContain('0 -> /dev/null');
    expect(stdout).not.toContain('canary');
    expect(stdout).not.toContain(secrets);
    expect(readdirSync(secrets)).toEqual(['secret']);
  });

  it('sees nothing hidden through a protected link that leads to it', async () => {
    const home = newFolder({ '.npmrc': 'canary' });
    const folder = newFolder({ 'sub/x': '' });
    symlinkSync(join(home, '.npmrc'), join(folder, 'sub/.npmrc'));
    const real = process.env['HOME'];
    process.env['HOME'] = home;
    try {
      const { exec } = workspace({}, folder);
      expect((await exec(sh('cat sub/.npmrc'))).stdout).toBe('');
    } finally {
      process.env['HOME'] = real;
    }
  });
});
