import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { leadsInto } from './workspace-folder.js';

/** An absolute path anywhere in a word, up to a character that ends a path. */
const ABSOLUTE = /[/\\][^\s"'`:;,|&()<>=]*/gu;

/** Whether a word contains a path into the workspace. Paths that the program composes at run time are not detected. */
export function namesPlaceIn(workspace: string, word: string): boolean {
  return [word, decodedWord(word), word.replaceAll('\\', '')].some(
    (text) =>
      text.includes(workspace) ||
      (text.match(ABSOLUTE) ?? []).some((path) => leadsInto(workspace, resolve('/', path))) ||
      [text, text.slice(text.indexOf('=') + 1)].some(
        (path) => isRelative(path) && existsSync(resolve(workspace, path)),
      ),
  );
}

function decodedWord(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function isRelative(word: string): boolean {
  return !isAbsolute(word) && (word.startsWith('.') || /[/\\]/u.test(word));
}
