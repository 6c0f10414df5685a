import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A path at which nothing is yet; what is there when the test has ended is removed. */
export function newFolder(): string {
  const parent = mkdtempSync(join(tmpdir(), 'store-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  return join(parent, 'kept');
}
