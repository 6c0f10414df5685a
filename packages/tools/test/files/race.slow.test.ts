import { fork } from 'node:child_process';
import { readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { readFile as readPlainly } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolCallError } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { createExec } from '#tools/exec/exec.js';
import { listDir } from '#tools/files/list-dir.js';
import { readFile } from '#tools/files/read-file.js';
import { createWorkspace, type Workspace } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { applyPatchIn } from '#tools/patch/apply-patch.js';
import { grepFiles } from '#tools/search/grep-files.js';
import { snapshot } from '../support/temporary-folder.js';
import { newFolder, put } from '@toolscript/testkit/folder';

const SECRET = 'SECRET of the folder outside';
const WAVES = 40;
const CALLS = 25;
const SWAPS = 1_000;

interface Attacked {
  readonly inside: string;
  readonly outside: string;
  readonly workspace: Workspace;
  /** The number of swaps so far. */
  readonly swaps: () => number;
}

/** Runs `attack` while another process swaps folders and links of the workspace. */
async function underSwaps(attack: (attacked: Attacked) => Promise<void>): Promise<void> {
  const parent = newFolder({
    'outside/victim.txt': SECRET,
    'inside/slot/victim.txt': 'harmless',
    'inside/own.txt': 'harmless',
  });
  const [inside, outside] = [join(parent, 'inside'), join(parent, 'outside')];
  symlinkSync(join(inside, 'own.txt'), join(inside, 'file-slot'));
  const swapper = fork(fileURLToPath(new URL('../support/swapper.mjs', import.meta.url)), [inside, outside]);
  let swaps = 0;
  await new Promise((resolve) => swapper.once('message', resolve));
  swapper.on('message', (message: { swaps: number }) => (swaps = message.swaps));
  try {
    await attack({ inside, outside, workspace: createWorkspace({ roots: inside }), swaps: () => swaps });
  } finally {
    swapper.kill('SIGKILL');
  }
}

/**
 * Many concurrent calls, repeatedly, until some have succeeded, some were refused, and there were many swaps. Returns
 * the results; only clear rejections may fail.
 */
async function storm({ swaps }: Attacked, call: (index: number) => Promise<unknown>): Promise<unknown[]> {
  const succeeded: unknown[] = [];
  let refused = 0;
  const isEnough = () => succeeded.length > 0 && refused > 0 && swaps() >= SWAPS;
  for (let wave = 0; wave < WAVES || !isEnough(); wave += 1) {
    const results = await Promise.allSettled(Array.from({ length: CALLS }, (_, index) => call(wave * CALLS + index)));
    for (const result of results) {
      if (result.status === 'fulfilled') succeeded.push(result.value);
      else if (result.reason instanceof ToolCallError) refused += 1;
      else throw result.reason;
    }
  }
  return succeeded;
}

// Without /proc the checks are weaker, and this law is not certain.
describe.runIf(process.platform === 'linux')('while folders are swapped for links to the outside', () => {
  it('the swaps deceive code that checks a path and then uses it', async () => {
    const escapes: string[] = [];
    await underSwaps(async ({ inside }) => {
      while (escapes.length === 0) {
        const reads = Array.from({ length: CALLS }, async () => {
          const path = join(inside, 'file-slot');
          if (!realpathSync(path).startsWith(`${inside}/`)) return;
          const text = await readPlainly(path, 'utf8');
          if (text === SECRET) escapes.push(text);
        });
        await Promise.allSettled(reads);
      }
    });
    expect(escapes[0]).toBe(SECRET);
  });

  it('no read shows a file from outside', async () => {
    await underSwaps(async (attacked) => {
      const shown = await storm(attacked, (index) =>
        readFile(attacked.workspace, { path: index % 2 ? 'slot/victim.txt' : 'file-slot' }),
      );
      expect(JSON.stringify(shown)).not.toContain(SECRET);
    });
  });

  it('no write, patch, new folder or deletion reaches the outside', async () => {
    await underSwaps(async (attacked) => {
      const { inside, outside, workspace } = attacked;
      const before = snapshot(outside);
      await storm(attacked, (index) => {
        if (index % 5 === 0) return writeFile(workspace, { path: 'slot/victim.txt', content: 'harmless' });
        if (index % 5 === 1) return writeFile(workspace, { path: `slot/new/${index}/file.txt`, content: 'x' });
        if (index % 5 === 2) return writeFile(workspace, { path: 'file-slot', content: 'harmless' });
        if (index % 5 === 3)
          return applyPatchIn(workspace, {
            patch: '*** Begin Patch\n*** Update File: slot/victim.txt\n@@\n-harmless\n+harmless\n*** End Patch',
          });
        return applyPatchIn(workspace, {
          patch: `*** Begin Patch\n*** Add File: slot/${index}.txt\n+x\n*** Delete File: slot/victim.txt\n*** Add File: slot/victim.txt\n+harmless\n*** End Patch`,
        });
      });
      expect(snapshot(outside)).toEqual(before);
      expect(readFileSync(join(inside, 'own.txt'), 'utf8')).toBe('harmless');
    });
  });

  it('no search, list or start folder shows anything outside', async () => {
    await underSwaps(async ({ outside, workspace }) => {
      put(outside, 'outside-name.txt', SECRET);
      const exec = createExec(workspace);
      const found: unknown[] = [];
      for (let round = 0; round < 30 || found.length <= 30; round += 1) {
        const results = await Promise.allSettled([
          grepFiles(workspace, { pattern: 'SECRET|harmless', matches: true }),
          grepFiles(workspace, { pattern: 'SECRET', path: 'slot' }),
          listDir(workspace, { path: 'slot' }),
          listDir(workspace, {}),
          exec({ command: ['pwd', '-P'], cwd: 'slot' }),
          exec({ command: ['ls'], cwd: 'slot' }),
        ]);
        found.push(...results.filter((result) => result.status === 'fulfilled').map(({ value }) => value));
      }
      expect(JSON.stringify(found)).not.toContain(SECRET);
      expect(JSON.stringify(found)).not.toContain('outside-name');
      expect(JSON.stringify(found)).not.toContain(outside);
    });
  });
});
