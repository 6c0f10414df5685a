import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** Sentences that read like a translation begin so. A question may begin so, too. */
const OPENING = /(?:\/\*\*? +|\/\/ +|[.:;!] +|['"`])(?:Of|What|Whoever|Whatever|For\s+what) [^.?'"`\n]*(.)/gu;

/** Words with a private meaning, each with the field's word. They are no names either. */
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

const PRIVATE_WORD = new RegExp(PRIVATE_WORDS.map(([word]) => String.raw`(\b(?:${word})\b)`).join('|'), 'giu');

/** Places where the word means what a dictionary says, or is data. */
const ALLOWED: readonly RegExp[] = [
  // A table of frequent words, for the estimate of tokens.
  /badge based before behind being/u,
  // Processes are told to end.
  /\btold to end\b/u,
  // A rule says what a package manager obeys.
  /tells a package manager/u,
];

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

function sources(): string[] {
  return readdirSync('packages').flatMap((name) =>
    readdirSync(`packages/${name}/src`, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/u.test(path))
      .map((path) => `packages/${name}/src/${path}`),
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
});
