import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@toolscript/testkit/folder';
import { describe, expect, it } from 'vitest';
import type { ChangeCause } from '#tools/files/commit.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { refusal } from '../support/temporary-folder.js';

function openWorkspace() {
  const root = newFolder();
  const workspace = createWorkspace({ roots: root, stateFolder: newFolder() });
  const write = (path: string, cause: ChangeCause = {}) => writeFile(workspace, { path, content: path }, cause);
  return { root, workspace, write };
}

/** Holds the workspace until `release` is called. */
function hold({ workspace }: ReturnType<typeof openWorkspace>): () => void {
  let release!: () => void;
  void workspace.exclusive(() => new Promise<void>((resolve) => (release = resolve)), {});
  return release;
}

describe('a change of files', () => {
  it('does not wait for all earlier changes of another principal', async () => {
    const opened = openWorkspace();
    const release = hold(opened);
    const ended: string[] = [];
    const write = (name: string, principal: string) =>
      opened.write(name, { principal }).then(() => void ended.push(principal));
    const all = [...Array.from({ length: 6 }, (_, index) => write(`a${index}`, 'ada')), write('b', 'bob')];
    release();
    await Promise.all(all);
    expect(ended).toEqual(['ada', 'bob', 'ada', 'ada', 'ada', 'ada', 'ada']);
  });

  it('that gets no turn in time is refused and changes nothing, and later ones are made', async () => {
    const opened = openWorkspace();
    const release = hold(opened);
    const late = await refusal(() => opened.write('late', { queueWaitMs: 20 }));
    expect(late.data['reason']).toBe('busy');
    const abort = new AbortController();
    const aborted = refusal(() => opened.write('aborted', { signal: abort.signal }));
    const next = opened.write('next');
    abort.abort();
    expect((await aborted).data['reason']).toBe('aborted');
    release();
    await next;
    expect(readFileSync(join(opened.root, 'next'), 'utf8')).toBe('next');
    expect(['late', 'aborted'].filter((name) => existsSync(join(opened.root, name)))).toEqual([]);
  });
});
