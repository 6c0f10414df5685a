import { fork } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readFile } from '#tools/files/read-file.js';
import { readAll } from '#tools/files/text.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { viewImage } from '#tools/media/view-image.js';
import { refusal } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

async function whileAppending(file: string, work: () => Promise<void>): Promise<void> {
  const appender = fork(fileURLToPath(new URL('../support/appender.mjs', import.meta.url)), [file]);
  await new Promise((resolve) => appender.once('message', resolve));
  try {
    await work();
  } finally {
    appender.kill('SIGKILL');
  }
}

describe('while another process appends to a file', () => {
  it('a read returns the bytes that the file had when it was opened', async () => {
    const folder = newFolder({ 'log.txt': 'x'.repeat(100_000) });
    const workspace = createWorkspace({ roots: folder });
    const file = join(folder, 'log.txt');
    await whileAppending(file, async () => {
      for (let round = 0; round < 20; round += 1) {
        expect((await readFile(workspace, { path: 'log.txt' })).totalLines).toBe(1);
      }
      expect(statSync(file).size).toBeGreaterThan(100_000);
    });
  });

  it('an image is read in one piece', async () => {
    const png = Buffer.alloc(33);
    png.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
    png.writeUInt32BE(1, 16);
    png.writeUInt32BE(1, 20);
    const folder = newFolder({ 'a.png': png });
    await whileAppending(join(folder, 'a.png'), async () => {
      const { bytes } = await viewImage(createWorkspace({ roots: folder }), { path: 'a.png' });
      expect(bytes).toBeGreaterThanOrEqual(33);
    });
  });
});

/** A file that grows during reads: each read finds one byte more. */
function slowHandle(reads: { count: number }): Parameters<typeof readAll>[0] {
  return {
    read: async (bytes: Buffer, at: number) => {
      reads.count += 1;
      bytes[at] = 120;
      return { bytesRead: 1, buffer: bytes };
    },
  } as never;
}

describe('the plan of a read', () => {
  const path = { absolute: '/a', given: 'a' };

  it('is not longer than the size of the file at its opening', async () => {
    const reads = { count: 0 };
    expect((await readAll(slowHandle(reads), 5, path)).toString()).toBe('xxxxx');
    expect(reads.count).toBe(5);
  });

  it('ends even if every read returns one byte', async () => {
    const reads = { count: 0 };
    const error = await refusal(() => readAll(slowHandle(reads), 1024 * 1024, path));
    expect(error.message).toBe("'a' keeps changing while it is read. Try again later.");
    expect(reads.count).toBeLessThan(50);
  });

  it('refuses a size beyond 10 MB before the first read', async () => {
    const reads = { count: 0 };
    expect((await refusal(() => readAll(slowHandle(reads), 10 * 1024 * 1024 + 1, path))).data['reason']).toBe(
      'too_large',
    );
    expect(reads.count).toBe(0);
  });
});
