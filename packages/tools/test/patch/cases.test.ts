import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { applyPatch, type ApplyPatchOptions } from '#tools/patch/apply-patch.js';
import { refusal, snapshot } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

/*
 * Every folder below cases/ is one law:
 *
 *     input/         the files before; .gitkeep stands for none
 *     patch.txt      what applyPatch is given, byte for byte
 *     options.json   optional: its options
 *     expected/      all files after, or
 *     error.txt      what the failure says; with expected/ beside it: what is kept before the failure
 */
const CASES = fileURLToPath(new URL('cases', import.meta.url));
const names = readdirSync(CASES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

function copyOf(folder: string): string {
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true, filter: (path) => basename(path) !== '.gitkeep' });
  return copy;
}

describe('every patch case', () => {
  it.each(names)('%s', async (name) => {
    const place = (part: string): string => join(CASES, name, part);
    const root = copyOf(place('input'));
    const before = snapshot(root);
    const patch = readFileSync(place('patch.txt'), 'utf8');
    const options: Partial<ApplyPatchOptions> = existsSync(place('options.json'))
      ? JSON.parse(readFileSync(place('options.json'), 'utf8'))
      : {};
    const apply = (more: object = {}) => applyPatch(patch, { root, ...options, ...more });
    const after = existsSync(place('expected')) ? snapshot(copyOf(place('expected'))) : before;
    if (existsSync(place('error.txt'))) {
      const refused = await refusal(apply);
      expect(`${refused.message}\n`).toBe(readFileSync(place('error.txt'), 'utf8'));
      expect(refused.message).not.toContain(root);
    } else {
      const dry = await apply({ dryRun: true });
      expect(snapshot(root)).toEqual(before);
      expect((await apply()).changes).toEqual(dry.changes);
    }
    expect(filesOf(snapshot(root))).toEqual(filesOf(after));
    if (!existsSync(place('expected'))) expect(snapshot(root)).toEqual(before);
  });

  it('is one of more than two hundred, of both formats, good and bad', () => {
    const bad = names.filter((name) => existsSync(join(CASES, name, 'error.txt')));
    const diffs = names.filter((name) => name.includes('-diff-'));
    expect(names.length).toBeGreaterThan(200);
    expect(diffs.length).toBeGreaterThan(60);
    expect(bad.length).toBeGreaterThan(60);
  });
});

/** Folders that became empty stay, and no case checks them. */
function filesOf(state: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(state).filter(([, entry]) => !entry.startsWith('folder')));
}
