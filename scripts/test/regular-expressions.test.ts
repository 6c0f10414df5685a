import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { analyse } from 'scslre';
import { expect, it } from 'vitest';
import { root } from './documents.js';
import { findRepeatedScan } from './repeated-scans.js';

/** Regular expressions that are not linear, and the reason why their texts are bounded. */
const BOUNDED: Readonly<Record<string, string>> = {
  [String.raw`\bvoid\s+[\w$.?![\]'"\s]*$`]: 'at most 200 characters before a call',
  [String.raw`"(?:[^"\\]|\\.)*"|[{}[\]:,]`]: 'valid JSON, in which each string ends',
  [String.raw`(?<=[?&#]([^\s=&#]+)=)[^\s&#]+`]: 'a name ends where another one starts',
  [String.raw`[^:]*$`]: 'a message of V8 about a pattern, which the compiler bounds with the source',
  [String.raw`'(.+?)'(?= (?:and|have|is|to)\b|\.$)`]: 'a message of the type checker, which truncates types',
  [String.raw`[^.[\]"]+(?="?\]?$)`]: 'a path of a bounded schema',
  [String.raw`\r?[\n\r\u2028\u2029](?=\s*at\s)`]: 'runs in the sandbox, under the time limit of its script',
  [String.raw`^(\[.*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$`]: 'an entry of NO_PROXY of the user’s own environment',
  [String.raw`[?#].*$`]: 'an address in a configuration; the first match ends at the end of the text',
  [String.raw`#.*$`]:
    'the address of a server that this process has started; the first match ends at the end of the text',
  [String.raw`(?:-v\d+(?::\d+)?|:[\w:-]*|\[1m\]|@\w+|-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest|fast))$`]:
    'the name of a model in a configuration',
  [String.raw`:.*$`]: 'a segment of a path; the first match ends at the end of the text',
  [String.raw`^(?:cd\s+(?<directory>.*\S)\s*&&\s*)?(?:apply_patch|applypatch)\s+<<-?\s*(['"]?)(?<word>\w+)\2\s*$`]:
    'a command line of at most 5 000 characters',
};

function sources(): string[] {
  const folders = readdirSync(join(root, 'packages')).filter((name) => existsSync(join(root, 'packages', name, 'src')));
  return folders.flatMap((name) =>
    readdirSync(join(root, 'packages', name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/u.test(path))
      .map((path) => `packages/${name}/src/${path.replaceAll('\\', '/')}`),
  );
}

interface Found {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

function expressionsOf(path: string): Found[] {
  const text = readFileSync(join(root, path), 'utf8');
  const found: Found[] = [];
  const add = (start: number, source: string, flags: string) =>
    found.push({ place: `${path}:${text.slice(0, start).split('\n').length}`, source, flags });
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) add(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: ({ callee, arguments: [source, flags], start }) => {
      if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return;
      const constant = source?.type === 'Literal' ? source.value : undefined;
      if (typeof constant !== 'string') return;
      add(start, constant, flags?.type === 'Literal' ? String(flags.value) : '');
    },
  }).visit(parseSync(path, text).program);
  return found;
}

const isLinear = ({ source, flags }: Pick<Found, 'source' | 'flags'>) =>
  analyse({ source, flags }).reports.length === 0 && findRepeatedScan(source, flags) === undefined;

it('the regular expressions of all sources are linear, or their texts are bounded', () => {
  const all = sources().flatMap(expressionsOf);
  expect(all.length).toBeGreaterThan(500);
  const slow = all.filter((one) => !isLinear(one));
  expect(
    slow.filter(({ source }) => !Object.hasOwn(BOUNDED, source)).map(({ place, source }) => `${place} ${source}`),
  ).toEqual([]);
  expect(Object.keys(BOUNDED).filter((source) => !slow.some((one) => one.source === source))).toEqual([]);
});

const SLOW = [
  '(a+)+$',
  '\\s+$',
  'a*a*b',
  '\\n+Consider',
  '\\$\\{[^}]*\\}',
  '"(?:[^"\\\\]|\\\\.)*"',
  '<a[^>]{0,5000}>',
  'a(?:[^b]*b)?',
  '^a(.+)b(.+)c',
  'a(?=.*b)',
  '\\bab\\s.*(?:c|d)',
  "'(.+?)'(?= is)",
  '<(x+)>[^]*?</\\1>',
];
const LINEAR = [
  '\\$\\{[^}]*\\}?',
  '<a[^>]{0,200}>',
  '^<a[^>]*>',
  '#.*',
  "'(.*?)'",
  '\\ba+\\b',
  '(?<!a)a+b',
  '<[^<>]*>',
  '(?:%[0-9a-f]{2})+',
  '"[^"\n]*(?:"|\n|$)',
  '^`{3,}(?!`)(?!.*`)',
];

it.each(SLOW)('%s is not linear', (source) => {
  expect(isLinear({ source, flags: 'u' })).toBe(false);
});

it.each(LINEAR)('%s is linear', (source) => {
  expect(isLinear({ source, flags: 'u' })).toBe(true);
});

it('the text that shows a repeated scan has no match after any number of starts', () => {
  const { pump, end } = findRepeatedScan(String.raw`\$\{([^}]*)\}`, 'u')!;
  expect(pump).toContain('${');
  expect(/\$\{([^}]*)\}/u.test(pump.repeat(100) + end)).toBe(false);
});
