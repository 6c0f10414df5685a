import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** Openings of sentences that read like a translation. A question may begin in the same way. */
const OPENING = /(?:\/\*\*? +|\/\/ +|[.:;!] +|['"`])(?:Of|What|Whoever|Whatever|For\s+what) [^.?'"`\n]*(.)/gu;

/** Words with a private meaning, each with the field's word. Names must not contain them either. */
const PRIVATE_WORDS: readonly (readonly [word: string, instead: string])[] = [
  [String.raw`go(?:es)?\s+on|went\s+on|going\s+on`, 'resume, continue'],
  [String.raw`cut\s+off`, 'interrupted, truncated'],
  [String.raw`put(?:s|ting)?\s+aside`, 'suspend'],
  ['forgets?|forgot|forgotten', 'delete, drop'],
  ['behind', 'after'],
  [String.raw`tak(?:e|es|en)\s+up|took\s+up`, 'claim, resume'],
  [String.raw`lets?\s+go`, 'release'],
  ['tells|told', 'emit, report'],
  ['wish|wishes|wished', 'options'],
  ['by chance', 'random'],
  ['complaints?|complains?', 'diagnostic, issue'],
  ['twins?|saying|story|somebody', 'the word of the field'],
  [String.raw`(?:an?|the|each|that)\s+person`, 'user'],
  ['(?:MOST|LEAST|LONGEST)_[A-Z_]+', 'MAX_, MIN_'],
];

/**
 * Words to avoid in reference pages, in comments of tests and benchmarks, and in those of scripts. In other sources
 * these words have other uses too.
 */
const PROSE_WORDS: readonly (readonly [word: string, instead: string])[] = [
  ...PRIVATE_WORDS,
  [String.raw`hears?|heard`, 'receive'],
  ['beside', 'next to, in addition to'],
  ['for ever', 'without end'],
  ['again and again', 'repeatedly'],
  ['(?:once|every|until|in|with|of) so many(?:th)?', 'this number of'],
  ['of ours', 'of Toolscript'],
  ['says? (?:so|nothing|what|which)', 'report, contain'],
  ['stands? (?:there|in|on|beside|inside)', 'is, contain, use'],
  ['nowhere', 'undeclared, missing'],
];

/** For comments of the folders in `REVIEWED`: words without a clear actor or reference. */
const VAGUE_WORDS: readonly (readonly [word: string, instead: string])[] = [
  [String.raw`(?<!')ours?(?!')`, 'of Toolscript, of this repository'],
  ['any more', 'no longer'],
  ['without links', 'with symbolic links resolved'],
  ['signs of life', 'callbacks, messages'],
  ['tried versions?', 'tested version'],
  ['cannot be had|can be had', 'is unavailable, is available'],
  ['stands? for nothing|what becomes of', 'the word of the field'],
  [
    String.raw`(?:fails|ends|throws|rejects|undefined|true|false|empty|0) where (?:a|an|it|its|no|nothing|there|the)`,
    'if',
  ],
  [String.raw`(?:process|folder|thread|realm)(?:es|s)? of (?:its|their) own`, 'separate'],
];

const VAGUE_WORD = new RegExp(VAGUE_WORDS.map(([word]) => String.raw`(\b(?:${word})\b)`).join('|'), 'giu');

/** A comment that is only an order or a key, without the thing that has it: `In call order.` */
const FRAGMENT = /^(?:By [\w -]{1,30}|In [\w -]{1,20} order)\.$/u;

/** Folders whose comments `VAGUE_WORDS` and `FRAGMENT` check. */
const REVIEWED = [
  'packages/client/src',
  'packages/client/test',
  'packages/core/src',
  'packages/core/test',
  'packages/isolated-vm/src',
  'packages/isolated-vm/test',
  'packages/mcp/src',
  'packages/server/src',
  'packages/service/src',
  'packages/service/test',
  'packages/server/test',
  'packages/tools/src',
  'packages/web/src',
  'scripts',
  'bench',
];

const wordsOf = (words: typeof PRIVATE_WORDS) =>
  new RegExp(words.map(([word]) => String.raw`(\b(?:${word})\b)`).join('|'), 'giu');

const PRIVATE_WORD = wordsOf(PRIVATE_WORDS);
const PROSE_WORD = wordsOf(PROSE_WORDS);

/** A sentence of a comment or of a page must not begin with one of these words, except a question. */
const PROSE_OPENING =
  /(?:^|[.:;!] )(?:Of|What|Whoever|Whatever|Where|Why|Who|Whose|How|Whether)(?: (?:long|many|much|often))?\b [^.?]*(.|$)/gu;

/** Places where the word has its ordinary meaning, or is data. */
const ALLOWED: readonly RegExp[] = [
  // A table of frequent words, for the estimate of tokens.
  /badge based before behind being/u,
  // The system or a server ends these processes.
  /\btold to end\b/u,
  // The comment is about a rule for package managers.
  /tells a package manager/u,
];

/** The pages of this test. Others show the output of commands. */
const PAGES = [
  ...['diagnostics', 'errors', 'events', 'guest', 'limits', 'mcp', 'responses', 'tools'].map(
    (name) => `docs/reference/${name}.md`,
  ),
  'docs/security.md',
  'design/defences.md',
];

/** Scripts of models are data, with comments in the words of models. */
const DATA = /\/(?:checker\/(?:good|bad)|fixtures|peers|scripts)\//u;

/** Joins the lines of each comment. Every offset stays. */
function withoutBreaks(source: string): string {
  return source.replaceAll(/\n *(?:\*(?!\/)|\/\/) ?/gu, (found) => ' '.repeat(found.length));
}

function problemsIn(path: string, source: string): string[] {
  const text = withoutBreaks(source);
  const words = [...text.matchAll(PRIVATE_WORD)].map((found) => {
    const rule = found.slice(1).findIndex((group) => group !== undefined);
    return { at: found.index, problem: `"${found[0]}" means ${PRIVATE_WORDS[rule]?.[1]}` };
  });
  const openings = [...text.matchAll(OPENING)]
    .filter(([, end]) => end !== '?')
    .map(({ index }) => ({ at: index, problem: 'a sentence begins with a question word' }));
  return [...words, ...openings]
    .map(({ at, problem }) => ({ at, problem, around: text.slice(Math.max(0, at - 40), at + 80) }))
    .filter(({ around }) => !ALLOWED.some((allowed) => allowed.test(around)))
    .map(({ at, problem, around }) => `${path}:${source.slice(0, at).split('\n').length} ${problem}: ${around}`);
}

const withoutCode = (text: string) => text.replaceAll(/`[^`\n]*`/gu, (found) => '_'.repeat(found.length));

/** Paragraphs, items and cells of a page: without headings, code, generated blocks and the titles of tests. */
function proseOf(page: string): string[] {
  return page
    .replaceAll(/^```.*?^```$/gmsu, '')
    .split('\n')
    .filter((line) => !/^(?:#|<!--|\| `[\w-]+` \| `packages\/)/u.test(line))
    .flatMap((line) => line.split(/ \| |^\| | \|$|^ *(?:-|\d+\.) /u))
    .filter((text) => text.trim() !== '');
}

function commentsOf(source: string): string[] {
  const comments = /^ *\/\*\*(.*?)\*\/|(?:^ *|[;{,)] )\/\/ ([^\n]*(?:\n *\/\/ [^\n]*)*)/gmsu;
  return [...source.matchAll(comments)].map(([, block, lines = '']) =>
    (block ?? lines).replaceAll(/\s*\n\s*(?:\*|\/\/)? ?/gu, ' ').trim(),
  );
}

function problemsOfProse(path: string, texts: readonly string[]): string[] {
  return texts.map(withoutCode).flatMap((text) => {
    const words = [...text.matchAll(PROSE_WORD)].map((found) => {
      const rule = found.slice(1).findIndex((group) => group !== undefined);
      return `"${found[0]}" means ${PROSE_WORDS[rule]?.[1]}`;
    });
    const openings = [...text.matchAll(PROSE_OPENING)]
      .filter(([, end]) => end !== '?')
      .map(() => 'a sentence begins with a question word');
    return [...words, ...openings].map((problem) => `${path}: ${problem}: ${text}`);
  });
}

function vagueIn(path: string, texts: readonly string[]): string[] {
  return texts.map(withoutCode).flatMap((text) => {
    const words = [...text.matchAll(VAGUE_WORD)].map((found) => {
      const rule = found.slice(1).findIndex((group) => group !== undefined);
      return `"${found[0]}" means ${VAGUE_WORDS[rule]?.[1]}`;
    });
    const problems = FRAGMENT.test(text) ? [...words, 'a comment names no subject'] : words;
    return problems.map((problem) => `${path}: ${problem}: ${text}`);
  });
}

function testsAndBenchmarks(): string[] {
  return codeIn([...readdirSync('packages').map((name) => `packages/${name}/test`), 'bench']);
}

function codeIn(folders: readonly string[]): string[] {
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .map((name) => `${folder}/${name}`)
        .filter((path) => /\.(?:tsx?|mjs)$/u.test(path) && !path.includes('node_modules') && !DATA.test(path)),
    );
}

function sources(): string[] {
  const folders = readdirSync('packages').flatMap((name) => [`packages/${name}/src`, `packages/${name}/templates`]);
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => /\.tsx?$/u.test(path))
        .map((path) => `${folder}/${path}`),
    );
}

describe('the English of the product', () => {
  it('is checked by rules that detect each mistake', () => {
    const bad = [
      '/** Whoever makes providers reads it. */',
      '// The value. What is left is dropped.',
      '/**\n * The script goes\n * on after the answer.\n */',
      "const message = 'Toolscript told the user about it.';",
      'const other = `The script ${id} was cut off.`;',
      "const other = 'Of the user.';",
      '/** The name of the person. */',
      'const MOST_CALLS = 3;',
    ];
    for (const line of bad) expect(problemsIn('bad.ts', line), line).not.toEqual([]);
    const good = "// What is it? It resumes.\nconst message = 'The script was interrupted.';";
    expect(problemsIn('good.ts', good)).toEqual([]);
  });

  it('uses the words of the field, and begins no sentence with a question word', () => {
    const paths = sources();
    expect(paths.length).toBeGreaterThan(500);
    expect(paths.flatMap((path) => problemsIn(path, readFileSync(path, 'utf8')))).toEqual([]);
  });

  it('is checked in prose by rules that detect each mistake', () => {
    const bad = [
      'How many calls it made.',
      'The value. Where it is absent, nothing runs.',
      'Every so many calls one fails.',
      'A folder beside the workspace.',
      'The screen says what was shown.',
      'The client hears no more of it.',
      'Nothing of ours keeps it open.',
    ];
    for (const text of bad) expect(problemsOfProse('bad', [text]), text).not.toEqual([]);
    expect(problemsOfProse('good', ['What runs? The script, as `told` reports.'])).toEqual([]);
    expect(commentsOf('const a = 1; // Zero.\n/** One. */\n// Two\n// lines.\n')).toEqual([
      'Zero.',
      'One.',
      'Two lines.',
    ]);
    expect(proseOf('# What\n- One `two`.\n| a cell | b |\n```\ncode\n```\n')).toEqual(['One `two`.', 'a cell', 'b']);
  });

  it.each(PAGES)('uses the words of the field in %s', (path) => {
    const texts = proseOf(readFileSync(path, 'utf8'));
    expect(texts.length).toBeGreaterThan(20);
    expect(problemsOfProse(path, texts)).toEqual([]);
  });

  it('is checked for a subject by rules that detect each mistake', () => {
    const bad = [
      'This value replaces ours.',
      'Absolute, without links.',
      'Fails where a file is missing.',
      'Runs in a process of its own.',
      'By approval id.',
      'In call order.',
    ];
    for (const text of bad) expect(vagueIn('bad', [text]), text).not.toEqual([]);
    const good = ['The calls in call order.', 'The places where nothing is written.', 'It has hours.'];
    expect(vagueIn('good', good)).toEqual([]);
  });

  it('names the subject in comments of the reviewed folders', () => {
    const paths = codeIn(REVIEWED);
    expect(paths.length).toBeGreaterThan(800);
    expect(paths.flatMap((path) => vagueIn(path, commentsOf(readFileSync(path, 'utf8'))))).toEqual([]);
  });

  it('uses the words of the field in comments of tests and benchmarks', () => {
    const paths = testsAndBenchmarks();
    expect(paths.length).toBeGreaterThan(300);
    expect(paths.flatMap((path) => problemsOfProse(path, commentsOf(readFileSync(path, 'utf8'))))).toEqual([]);
  });
});
