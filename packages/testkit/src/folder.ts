import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const folders: string[] = [];

/** A new folder with these files, without links in its path; `memory-folder.ts` removes it after the test file. */
export function newFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'folder-')));
  folders.push(folder);
  for (const [path, content] of Object.entries(files)) put(folder, path, content);
  return folder;
}

/** Writes a file, and makes the folders above it. */
export function put(folder: string, path: string, content: string | Uint8Array): void {
  const place = join(folder, path);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, content);
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** A path at which nothing exists yet. */
export function unusedPath(): string {
  return join(newFolder(), 'unused');
}
