import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

const MAX_BYTES = 64 * 1024;
const COMMENT = /^\s*(?:[#;].*)?$/;
const SECTION = /^\s*\[(core|user|init|pull|extensions)\]\s*$/i;
const NAMED_SECTION = /^\s*\[(remote|branch) "[\w./-]+"\]\s*$/i;
/** A setting without quotes and without backslashes, because a backslash can continue a value on the next line. */
const SETTING = /^\s*([a-z]+)\s*=([^"\\]*)$/i;
/** Common settings of repositories. None of them names a program or a file that git obeys. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  core: `repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf
    eol`.split(/\s+/),
  user: ['name', 'email'],
  init: ['defaultbranch'],
  pull: ['rebase', 'ff'],
  extensions: ['objectformat', 'refstorage'],
  remote: ['url', 'fetch', 'tagopt', 'prune'],
  branch: ['remote', 'merge', 'rebase'],
};

/** Whether a repository's configuration is a regular file that makes git run no program. */
export function isPlainGitConfig(path: string): boolean {
  try {
    return isPlain(readRegularFile(path));
  } catch {
    return false;
  }
}

function readRegularFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = fstatSync(file);
    // defence: git-config-is-a-small-regular-file
    if (!fstatSync(file).isFile() || size > MAX_BYTES)
      throw new Error(`${path} is not a regular file of at most ${MAX_BYTES} bytes`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function isPlain(text: string): boolean {
  let section: readonly string[] = [];
  return text.split('\n').every((line) => {
    const header = SECTION.exec(line) ?? NAMED_SECTION.exec(line);
    if (header !== null) section = PLAIN[header[1]!.toLowerCase()] ?? [];
    return header !== null || COMMENT.test(line) || isPlainSetting(line, section);
  });
}

function isPlainSetting(line: string, section: readonly string[]): boolean {
  const [, name = '', text = ''] = SETTING.exec(line) ?? [];
  const value = text.trimStart();
  // `ext::sh -c …` is an address that names a program; an address that starts with a dash is an option.
  // defence: git-addresses-name-no-program
  return section.includes(name.toLowerCase()) && !value.includes('::') && !value.startsWith('-');
}
