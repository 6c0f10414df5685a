import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitChanges } from '#tools/files/commit.js';
import { sha256InTurns } from '#tools/files/content-hash.js';
import { withLocks } from '#tools/files/place-locks.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { imageHeader } from '#tools/media/image-header.js';
import { PatchPlanner } from '#tools/patch/planner.js';
import { parseTemplate } from '#tools/prompts/template.js';
import { refusal } from './support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

/** The number of turns of the event loop that other work of this process gets meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  await work();
  clearImmediate(immediate);
  return turns;
}

describe('other work of the process gets a turn', () => {
  const folder = newFolder();
  const workspace = createWorkspace({ roots: folder, stateFolder: newFolder() });
  const names = Array.from({ length: 640 }, (_, index) => `file-${index}`);

  it('between the parts of a large hash', async () => {
    expect(await turnsDuring(() => sha256InTurns(Buffer.alloc(2 * 1024 * 1024)))).toBeGreaterThanOrEqual(7);
  });

  it('between the locks of a change of many files', async () => {
    const turns = await turnsDuring(() => withLocks(newFolder(), names, {}, () => Promise.resolve()));
    expect(turns).toBeGreaterThanOrEqual(200);
  });

  it('between the names of a patch, before any lookup', async () => {
    const operations = [...names, '../outside'].map((path) => ({ kind: 'delete' as const, path, patchLine: 1 }));
    const planner = new PatchPlanner(workspace, undefined, undefined);
    const turns = await turnsDuring(() => refusal(() => planner.checkPaths(operations)));
    expect(turns).toBeGreaterThanOrEqual(9);
  });

  it('between the paths of a change, before the first effect', async () => {
    const changes = [...names, '.git/config'].map((name) => ({
      target: { realPath: join(folder, name), given: name, existing: undefined },
      bytes: Buffer.from('x'),
    }));
    const turns = await turnsDuring(() => refusal(() => commitChanges(workspace, changes as never)));
    expect(turns).toBeGreaterThanOrEqual(9);
  });
});

describe('work without turns has a bound', () => {
  /** A JPEG image with this number of empty segments or fill bytes before its frame header. */
  const jpeg = (before: Buffer, count: number): Buffer =>
    Buffer.concat([
      Buffer.from([0xff, 0xd8]),
      ...Array<Buffer>(count).fill(before),
      Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 7, 0, 9, 1, 1, 0x11, 0]),
    ]);

  it.each([
    ['segments', Buffer.from([0xff, 0xe1, 0, 2])],
    ['fill bytes', Buffer.from([0xff])],
  ])('a JPEG image has at most 4 096 %s before its frame header', (_, before) => {
    expect(imageHeader(jpeg(before, 4_000))).toMatchObject({ width: 9, height: 7 });
    expect(imageHeader(jpeg(before, 5_000))).toMatchObject({ width: 0, height: 0 });
  });

  it('a prompt has at most 5 000 pairs of braces', async () => {
    expect(parseTemplate('{{{{'.repeat(5_000))).toHaveLength(5_000);
    const error = await refusal(() => Promise.resolve().then(() => parseTemplate('{{a}}'.repeat(5_001))));
    expect(error.message).toContain('more than 5000 times');
  });
});
