// Finds the defences: marks in the sources (`// defence: NAME`), the table of design/defences.md, which names the test of
// each defence, and scripts/test/mutants.txt, which has the code that takes the place of some of them.
import { readFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { root } from './prepare.mjs';

const MARK = /\/\/ defence: (?<name>[a-z0-9-]+)$/gmu;
const MUTANT = /^(?<name>[a-z0-9-]+): (?<code>.*)$/gmu;
/** `name` · the test's file › the test's title, or the beginning of it. */
const ROW = /^\| `(?<name>[a-z0-9-]+)` \| `(?<file>[^`]+)` \| (?<title>.*) \|$/gmu;

/** The code that replaces defences when they are removed, by name. */
export function readMutants() {
  const text = readFileSync(join(root, 'scripts/test/mutants.txt'), 'utf8');
  return new Map([...text.matchAll(MUTANT)].map(({ groups }) => [groups.name, groups.code]));
}

/**
 * Every mark, in the order of files: `{ name, file, code, offset }`. `code` replaces the defence when it is removed;
 * undefined if nothing replaces it. `offset` is the end of the mark's line.
 */
export function findMarks() {
  const mutants = readMutants();
  const listed = spawnSync('git', ['ls-files', 'packages/*/src/*.ts', 'packages/*/src/*.js', 'packages/*/src/*.cts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed.stdout.split('\n').filter((file) => file !== '');
  return files.flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    return [...source.matchAll(MARK)].map((match) => ({
      name: match.groups.name,
      code: mutants.get(match.groups.name),
      file,
      offset: match.index + match[0].length,
    }));
  });
}

/** The rows of design/defences.md: `{ name, file, title }`. */
export function readTable() {
  const page = readFileSync(join(root, 'design/defences.md'), 'utf8');
  return [...page.matchAll(ROW)].map(({ groups }) => ({
    name: groups.name,
    file: groups.file,
    title: groups.title.replaceAll('\\|', '|'),
  }));
}

/** A file's source without one defence: the statement, class member, property or element after its mark. */
export function withoutDefence({ file, code, offset }, source = readFileSync(join(root, file), 'utf8')) {
  const start = offset + /^\s*(?:\/\/[^\n]*\s*)*/u.exec(source.slice(offset))[0].length;
  const node = outermostAt(file, source, start);
  if (node === undefined)
    throw new Error(
      `${file}: no statement, member or property follows the mark at ${offset}. Put the mark above the defence.`,
    );
  const takesComma = source[node.end] === ',' && (code === undefined || code.endsWith(','));
  const end = node.end + (takesComma ? 1 : 0);
  return source.slice(0, node.start) + (code ?? '') + source.slice(end);
}

function outermostAt(file, source, start) {
  const lang = file.endsWith('.js') ? 'js' : 'ts';
  const { program } = parseSync(file, source, { lang, sourceType: 'module' });
  let found;
  const visit = (value) => {
    if (typeof value !== 'object' || value === null || found !== undefined) return;
    if (Array.isArray(value)) return value.forEach(visit);
    if (value.start === start && value.type !== 'Program') {
      found = value;
      return;
    }
    if ('start' in value && (start < value.start || start >= value.end)) return;
    for (const member of Object.values(value)) visit(member);
  };
  visit(program);
  return found;
}
