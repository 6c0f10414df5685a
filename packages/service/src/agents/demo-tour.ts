import { setTimeout as wait } from 'node:timers/promises';

/** The pause after each part of the answer, so that a user can watch the model write, in ms. */
const PAUSE_MS = 9;

/** Whether a prompt requests the tour, which is a script that reads a folder. */
export function isTour(prompt: string): boolean {
  return /\btour\b/iu.test(prompt);
}

/**
 * The script for a prompt that requests a tour. It needs the tools that read a folder. `asksUser`: the script makes a
 * call that waits for an approval.
 */
export function tourScript(asksUser: boolean): string {
  return [
    'interface FileFacts {',
    '  path: string;',
    '  lines: number;',
    '  openPoints: number;',
    '}',
    '',
    '// Everything that a script can call here.',
    'const callable = (await catalog.list()).map(({ name }) => name);',
    "console.log(`I can call ${callable.join(', ')}.`);",
    '',
    '// Two calls at once.',
    'const [folder, found] = await Promise.all([',
    "  tools.listDir({ path: '.', depth: 3, limit: 200 }),",
    "  tools.grepFiles({ pattern: 'TODO', matches: true }),",
    ']);',
    "const paths = folder.entries.filter(({ type }) => type === 'file').map(({ path }) => path).slice(0, 12);",
    'console.log(`reading ${paths.length} files side by side`);',
    '',
    '// One call for each file, all at the same time.',
    'async function factsOf(path: string): Promise<FileFacts> {',
    '  const { totalLines } = await tools.readFile({ path });',
    '  const openPoints = (found.matches ?? []).filter((match) => match.path === path).length;',
    '  return { path, lines: totalLines, openPoints };',
    '}',
    'const files = await Promise.all(paths.map(factsOf));',
    'files.sort((left, right) => right.lines - left.lines);',
    ...(asksUser
      ? [
          '',
          '// This call has an effect, so it waits for you.',
          "const guest = await tools.signGuestBook({ name: 'demo' });",
        ]
      : []),
    '',
    'return {',
    asksUser
      ? '  message: `${guest.signed} signed the guest book, after ${files.length} files were read`,'
      : '  message: `${files.length} files were read`,',
    '  files,',
    '  callable,',
    '};',
  ].join('\n');
}

/** Yields the given values, with a pause after each one. */
export async function* slowly<Value>(values: AsyncIterable<Value>): AsyncGenerator<Value, void, undefined> {
  for await (const value of values) {
    yield value;
    await wait(PAUSE_MS);
  }
}
