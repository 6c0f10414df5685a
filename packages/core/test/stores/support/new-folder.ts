import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An unused path; after the test, the files there are deleted. */
export function newFolder(): string {
  const parent = mkdtempSync(join(tmpdir(), 'store-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  return join(parent, 'kept');
}
