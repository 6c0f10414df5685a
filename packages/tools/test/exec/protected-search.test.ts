import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FolderReader } from '#tools/exec/sandbox/folder-reader.js';
import { ProtectedSearch } from '#tools/exec/sandbox/protected-entries.js';
import { PROTECTED_NAMES } from '#tools/files/protected-names.js';
import { describe, expect, it } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';

describe('the search for entries that other programs obey', () => {
  it.each(PROTECTED_NAMES.map(({ name }) => name).filter((name) => name !== '.git'))(
    'finds %s in any folder and in any spelling',
    (name) => {
      const folder = newFolder({});
      const paths = [name, `sub/${name}`, `capitals/${name.toUpperCase()}`].map((path) => join(folder, path));
      for (const path of paths) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, '');
      }
      const { entries } = new ProtectedSearch().find(new FolderReader(), { roots: [folder], unprotected: new Set() });
      expect(entries.map(({ path }) => path).toSorted()).toEqual(paths.toSorted());
    },
  );
});
