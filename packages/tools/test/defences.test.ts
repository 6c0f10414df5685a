import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownIdentity } from '@toolscript/core/internal';
import { describe, expect, it } from 'vitest';
import { listDir } from '#tools/files/list-dir.js';
import { withLocks } from '#tools/files/place-locks.js';
import { makePrivateFolder } from '#tools/files/state-folder.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { FileLists } from '#tools/search/file-list.js';
import { fileSearch } from '#tools/search/file-search.js';
import { runRipgrep } from '#tools/search/ripgrep.js';
import { WorkSlices } from '#tools/work-slices.js';
import { refusal } from './support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

describe('work in slices', () => {
  it('is rejected after more steps than its maximum', async () => {
    const slices = new WorkSlices({ signal: undefined, maxSteps: 10_000, tooMuch: 'Too much of it.' });
    const error = await refusal(async () => {
      for (let step = 0; step < 1_000_000; step += 1) if (slices.isDue()) await slices.pass();
    });
    expect(error.message).toBe('Too much of it.');
  });

  it('stops at an abort', async () => {
    const slices = new WorkSlices({ signal: AbortSignal.abort() });
    expect((await refusal(() => slices.pass())).data['reason']).toBe('aborted');
  });

  it('yields to other work', async () => {
    let turns = 0;
    const other = setImmediate(() => (turns += 1));
    await new WorkSlices({ signal: undefined }).pass();
    clearImmediate(other);
    expect(turns).toBe(1);
  });
});

describe('the folder for locks and journals', () => {
  it.each(['', 'here'])('is never in the current folder, even if the home is %j', (home) => {
    const [program, folder] = [fileURLToPath(new URL('support/state-folder.mjs', import.meta.url)), newFolder()];
    const { XDG_STATE_HOME: _state, ...env } = process.env;
    const found = execFileSync(process.execPath, [program], { cwd: folder, env: { ...env, HOME: home } }).toString();
    expect(isAbsolute(found)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('fileSearch', () => {
  it('shows no name from a folder that became a link to the outside after the walk', async () => {
    const parent = newFolder({ 'inside/slot/a.txt': '', 'outside/a.txt': '' });
    const workspace = createWorkspace({ roots: join(parent, 'inside') });
    // The list of the walk is made before the swap.
    class SwappedLists extends FileLists {
      override async of(...args: Parameters<FileLists['of']>) {
        const list = await super.of(...args);
        renameSync(join(parent, 'inside/slot'), join(parent, 'parked'));
        symlinkSync(join(parent, 'outside'), join(parent, 'inside/slot'));
        return list;
      }
    }
    expect(await fileSearch(workspace, { pattern: '*.txt' }, undefined, new SwappedLists(workspace))).toMatchObject({
      files: [],
    });
  });
});

describe('listDir', () => {
  it('lists at most 100 000 entries of a folder and says that there are more', async () => {
    const folder = newFolder();
    execFileSync('sh', ['-c', 'seq 100001 | xargs touch'], { cwd: folder });
    const result = await listDir(createWorkspace({ roots: folder }), { offset: 99_999, limit: 2_000 });
    expect(result.entries).toHaveLength(2);
    expect(result.truncated).toBe(true);
  });
});

describe('ripgrep', () => {
  it('skips lines of more than a megabyte', async () => {
    const folder = newFolder({ 'a.txt': `${'needle'.repeat(400_000)}\n` });
    const pieces: string[] = [];
    const end = await runRipgrep({
      cwd: folder,
      args: ['-e', 'needle', '--', '.'],
      separator: '\n',
      signal: undefined,
      onPiece: (piece) => (pieces.push(piece), undefined),
    });
    expect(pieces).toEqual([]);
    expect(end.passedOver).toBe(1);
  });
});

describe.runIf(process.getuid !== undefined)('the state folder', () => {
  it('is not accessible to other users', () => {
    const folder = newFolder();
    chmodSync(folder, 0o755);
    expect(makePrivateFolder(folder)).toBe(true);
    expect(statSync(folder).mode & 0o077).toBe(0);
  });

  it('is never a link or a folder of another user', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'other'));
    symlinkSync('other', join(folder, 'link'));
    expect(makePrivateFolder(join(folder, 'link'))).toBe(false);
    // Only root can give a folder to another user; for all others the root folder is another user's.
    if (process.getuid!() === 0) chownSync(join(folder, 'other'), 12_345, 12_345);
    expect(makePrivateFolder(process.getuid!() === 0 ? join(folder, 'other') : '/')).toBe(false);
  });
});

describe('a lock', () => {
  /** Writes the lock of '/a', with this holder. */
  async function lockBy(stateFolder: string, holder: object): Promise<string> {
    let folder = '';
    await withLocks(stateFolder, ['/a'], {}, async () => {
      folder = join(stateFolder, 'locks', readdirSync(join(stateFolder, 'locks'))[0]!);
    });
    await expect.poll(() => existsSync(folder)).toBe(false);
    mkdirSync(folder);
    writeFileSync(join(folder, 'holder'), JSON.stringify(holder));
    return join(folder, 'holder');
  }

  it('makes others wait while its holder is alive, and an abort ends the wait', async () => {
    const stateFolder = newFolder();
    await lockBy(stateFolder, ownIdentity());
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 50);
    const error = await refusal(() => withLocks(stateFolder, ['/a'], { signal: abort.signal }, async () => undefined));
    expect(error.data['reason']).toBe('aborted');
  });

  it('of an ended process can be claimed', async () => {
    const stateFolder = newFolder();
    const holder = await lockBy(stateFolder, { pid: 2 ** 22 + 1, hostname: 'elsewhere' });
    utimesSync(holder, 1, 1);
    expect(await withLocks(stateFolder, ['/a'], {}, async () => 'done')).toBe('done');
  });

  it('lets one change run at a time if two workspaces of a process have no state folder', async () => {
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
    };
    await Promise.all(Array.from({ length: 5 }, () => withLocks(undefined, ['/a'], {}, work)));
    expect(most).toBe(1);
  });
});
