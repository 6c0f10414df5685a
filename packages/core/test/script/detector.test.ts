import { describe, expect, it } from 'vitest';
import type { AnswerSegment } from '#core/protocol/index.js';
import { createDetector, detectScripts, type DetectorOptions } from '#core/script/detect/detector.js';

/** The segments as pairs of their type and content. */
function brief(answer: string, options?: DetectorOptions): [string, string][] {
  const segments = detectScripts(answer, options);
  expect(segments.map((segment) => segment.raw).join('')).toBe(answer);
  return segments.map((segment) => [segment.type, 'source' in segment ? segment.source : segment.text]);
}

function only(answer: string, type: AnswerSegment['type']): AnswerSegment[] {
  return detectScripts(answer).filter((segment) => segment.type === type);
}

function failureOf(answer: string) {
  const [segment] = only(answer, 'malformed');
  if (segment?.type !== 'malformed') throw new Error('nothing is malformed');
  return segment.failure;
}

/** Pushes the deltas one by one and returns the delta after which the first script was found. */
function pushesUntilScript(deltas: readonly string[]): number {
  const detector = createDetector();
  return deltas.findIndex((delta) =>
    detector.push(delta).some((event) => event.type === 'segment' && event.segment.type === 'script'),
  );
}

describe('blocks', () => {
  it('an answer with thinking, text and scripts is split in order', () => {
    const answer =
      'Let me look.\n\n<thinking>\nfirst search\n</thinking>\n\nStarting.\n\n<tool-calls>\nreturn 1\n</tool-calls>\n\nDone.\n```ts tool-calls\nreturn 2\n```\n';
    expect(brief(answer)).toEqual([
      ['text', 'Let me look.\n\n'],
      ['reasoning', '\nfirst search\n'],
      ['text', '\n\nStarting.\n\n'],
      ['script', 'return 1\n'],
      ['text', '\n\nDone.\n'],
      ['script', 'return 2\n'],
      ['text', '\n'],
    ]);
  });

  it.each([
    ['<tool-calls>return 1</tool-calls>', 'ts'],
    ['<tool-calls >return 1</tool-calls >', 'ts'],
    ['<tool-calls lang="js">return 1</tool-calls>', 'js'],
    ["<tool-calls  lang='javascript' >return 1</tool-calls>", 'js'],
    ['<tool-calls lang="ts">return 1</tool-calls>', 'ts'],
  ])('%s is a script in %s', (answer, language) => {
    expect(detectScripts(answer)).toEqual([
      { type: 'script', raw: answer, source: 'return 1', language, format: 'xml' },
    ]);
  });

  it.each(['ts', 'typescript', 'js', 'javascript'])('a fence of %s tool-calls is a script', (word) => {
    const raw = `\`\`\`${word} tool-calls\nreturn 1\n\`\`\``;
    const language = word.startsWith('j') ? 'js' : 'ts';
    expect(detectScripts(`a\n${raw}\nb`)[1]).toEqual({
      type: 'script',
      raw,
      source: 'return 1\n',
      language,
      format: 'fence',
    });
  });

  it.each([
    '<Tool-Calls>return 1</Tool-Calls>',
    '<tool-call>return 1</tool-call>',
    '<tool-calls lang="py">return 1',
    '<tool-calls id="1">return 1',
    '<tool-callslang="js">return 1',
    '< tool-calls>return 1',
    '<script>return 1</script>',
    '```python tool-calls\nreturn 1\n```',
    '```tool-calls\nreturn 1\n```',
    '```ts tool-calls now\nreturn 1\n```',
    '~~~ts tool-calls\nreturn 1\n~~~',
    '    ```ts tool-calls\n    return 1\n    ```',
    'x ```ts tool-calls\nreturn 1\n```',
    '<b>5 < 6</b> </think>',
  ])('%j is text', (answer) => {
    expect(brief(answer)).toEqual([['text', answer]]);
  });

  it('a fence closes at a line of as many backticks or more, indented by three spaces at most', () => {
    expect(brief('  ````ts tool-calls\r\nreturn 1 // `\r\n   ````` \t\r\nend')).toEqual([
      ['text', '  '],
      ['script', 'return 1 // `\r\n'],
      ['text', '\r\nend'],
    ]);
    expect(brief('````ts tool-calls\n/*\n```\n*/\n````')).toEqual([['script', '/*\n```\n*/\n']]);
  });

  it('fences can be disabled', () => {
    const answer = '```ts tool-calls\n<tool-calls>1</tool-calls>\n```\n<tool-calls>2</tool-calls>';
    expect(brief(answer, { fences: false })).toEqual([
      ['text', '```ts tool-calls\n<tool-calls>1</tool-calls>\n```\n'],
      ['script', '2'],
    ]);
  });

  it('several tags may be configured, and a block closes only with its own', () => {
    const tags = ['tool-calls', 'script', 'script-x'];
    expect(brief('<script>"a"; </tool-calls><tool-calls>\n</script><script-x>2</script-x>', { tags })).toEqual([
      ['script', '"a"; </tool-calls><tool-calls>\n'],
      ['script', '2'],
    ]);
    expect(brief('<tool-calls>1</tool-calls>', { tags: ['run'] })).toEqual([['text', '<tool-calls>1</tool-calls>']]);
  });

  it('a name that cannot be a tag is rejected with the reason', () => {
    expect(() => createDetector({ tags: ['a b'] })).toThrow(/"a b" cannot be a script tag/);
    expect(() => createDetector({ tags: [''] })).toThrow(/cannot be a script tag/);
    expect(() => createDetector({ tags: ['think'] })).toThrow(/holds the model's reasoning/);
  });

  it('line 1 of the source is the line after the tag, or the rest of its own line', () => {
    expect(brief('<tool-calls> \t\r\n  a\r\n  </tool-calls>')).toEqual([['script', '  a\r\n  ']]);
    expect(brief('<tool-calls> a\nb</tool-calls>')).toEqual([['script', ' a\nb']]);
    expect(brief('<tool-calls>\n\na</tool-calls>')).toEqual([['script', '\na']]);
  });

  it('an empty block is a script without source', () => {
    expect(brief('<tool-calls></tool-calls><tool-calls>\n</tool-calls>\n```js tool-calls\n```')).toEqual([
      ['script', ''],
      ['script', ''],
      ['text', '\n'],
      ['script', ''],
    ]);
  });

  it('white space between blocks stays a text segment', () => {
    expect(brief('<tool-calls>1</tool-calls> \n <think></think>\n')).toEqual([
      ['script', '1'],
      ['text', ' \n '],
      ['reasoning', ''],
      ['text', '\n'],
    ]);
  });
});

describe('reasoning', () => {
  it('reasoning is never scanned, and its tags belong to raw only', () => {
    expect(detectScripts('<think>a <tool-calls>1</tool-calls> </thinking> `</think >b')).toEqual([
      {
        type: 'reasoning',
        raw: '<think>a <tool-calls>1</tool-calls> </thinking> `</think >',
        text: 'a <tool-calls>1</tool-calls> </thinking> `',
      },
      { type: 'text', raw: 'b', text: 'b' },
    ]);
  });

  it('unclosed reasoning reaches the end of the answer', () => {
    expect(brief('a<thinking>b\n<tool-calls>1</tool-calls></thinkin')).toEqual([
      ['text', 'a'],
      ['reasoning', 'b\n<tool-calls>1</tool-calls></thinkin'],
    ]);
  });

  it('a reasoning tag in a code span or a fence is plain text', () => {
    const answer = 'write `<think>` or\n```\n<thinking>\n```\n';
    expect(brief(`${answer}<tool-calls>1</tool-calls>`)).toEqual([
      ['text', answer],
      ['script', '1'],
    ]);
  });
});

describe('code spans and fences of text', () => {
  it.each([
    'Use `<tool-calls>` and `</tool-calls>`.',
    'Use ``<tool-calls> ` </tool-calls>`` there.',
    'Over `two\nlines <tool-calls>1</tool-calls>` it goes.',
    'One `<tool-calls>\nreturn 1\n</tool-calls>` here.',
    '```<tool-calls>1</tool-calls>``` on one line',
    '```js\n<tool-calls>\n1\n</tool-calls>\n```',
    '```js <tool-calls>\n1\n```',
    '~~~\n<tool-calls>1</tool-calls>\n```\n~~~',
    '~~~ a ` b\n<tool-calls>1</tool-calls>\n~~~',
    '````md\n```ts tool-calls\nreturn 1\n```\n````',
    '```\nnever closed\n\n<tool-calls>1</tool-calls>',
    '- ```xml\n  <tool-calls>\n  1\n  </tool-calls>\n  ```',
    '10. ~~~\n    <tool-calls>\n    1\n    </tool-calls>\n    ~~~',
    '> ```xml\n> <tool-calls>\n> 1\n> </tool-calls>\n> ```',
    '      ```\n      <tool-calls>1</tool-calls>\n      ```',
    'a `` b ` c `` <b> `<tool-calls>`',
  ])('%j is text', (answer) => {
    expect(brief(answer)).toEqual([['text', answer]]);
  });

  it.each([
    ['a blank line', 'A stray ` here.\n\n'],
    ['a blank line with spaces and CR', 'A stray ` here.\r\n \t\r\n'],
    ['the line of the tag', 'A stray ` here.\n'],
    ['the indented line of the tag', 'A stray `` here.\n   '],
    ['an escape', 'An escaped \\` here '],
    ['an even number of backslashes and a span', 'Slashes \\\\`a\\` and '],
    ['a span of another length', 'A `` b ` c `` d '],
    ['a closed fence', '```\n`\n``` \n'],
    ['a fence closed by more backticks', '```\n``\n````\n'],
    ['a line of tildes', 'A ` b\n~~~\n~~~\n'],
    ['a run too long for a span', `${'`'.repeat(33)} a `],
  ])('a stray backtick does not hide a block behind %s', (_, text) => {
    expect(brief(`${text}<tool-calls>return \`x\`</tool-calls>`)).toEqual([
      ['text', text],
      ['script', 'return `x`'],
    ]);
  });

  it('a stray backtick hides no block in the middle of its own line', () => {
    expect(brief('A ` b ``` c <tool-calls>1</tool-calls> `` <think>x</think> d\n\n`')).toEqual([
      ['text', 'A ` b ``` c '],
      ['script', '1'],
      ['text', ' `` '],
      ['reasoning', 'x'],
      ['text', ' d\n\n`'],
    ]);
  });

  it('a fence of a script ends the paragraph of a stray backtick', () => {
    expect(brief('A ` b\n```ts tool-calls\nreturn `x`\n```')).toEqual([
      ['text', 'A ` b\n'],
      ['script', 'return `x`\n'],
    ]);
  });

  it('backticks beside a tag that stays open are paired as if the earlier spans were closed', () => {
    expect(brief('``` ` `` ` <tool-calls>1</tool-calls> ``')).toEqual([
      ['text', '``` ` `` ` '],
      ['script', '1'],
      ['text', ' ``'],
    ]);
  });

  it('text is emitted while a code span is open, and withheld only from a tag onwards', () => {
    const detector = createDetector();
    expect(detector.push('a `b c')).toEqual([{ type: 'text_delta', text: 'a `b c' }]);
    expect(detector.push(' <tool-calls> d')).toEqual([{ type: 'text_delta', text: ' ' }]);
    expect(detector.push('` e')).toEqual([{ type: 'text_delta', text: '<tool-calls> d` e' }]);
  });
});

describe('closing tags inside a script', () => {
  it.each([
    ['a double-quoted string', 'f("</tool-calls>")'],
    ['a single-quoted string', "f('\\'</tool-calls>')"],
    ['a continued string', "f('a\\\n</tool-calls>')"],
    ['a string continued over CR LF', 'f("a\\\r\n</tool-calls>")'],
    ['a template', 'f(`\n</tool-calls>\n`)'],
    ['a template after an escape', 'f(`\\`</tool-calls>\\\\`)'],
    ['a template around a substitution', 'f(`${ { a: `${"}"}` }.a } </tool-calls>`)'],
    ['a template after a dollar', 'f(`$${1}$</tool-calls>$`)'],
    ['a line comment', '// </tool-calls>\nf()'],
    ['a block comment', '/* * </tool-calls>\n</tool-calls> **/ f()'],
    ['a regular expression', 'f(/</tool-calls>/)'],
    ['a regular expression with a class', 'return /[/"`]</tool-calls>/.test(a)'],
    ['a regular expression after a condition', "if (a(1)) /['</tool-calls>]/.test(b)"],
    ['a regular expression after a block', '{ a } /`</tool-calls>/.test(b)'],
    ['a regular expression after an operator', 'a = b && !/`</tool-calls>/.test(b)'],
  ])('a closing tag in %s does not close it', (_, body) => {
    expect(brief(`<tool-calls>\n${body}\n</tool-calls>.`)).toEqual([
      ['script', `${body}\n`],
      ['text', '.'],
    ]);
  });

  it.each([
    'a = b / c; d = "e" / f',
    'a = b++ / c; "/`"',
    'a = (b) / c / d[0] / `${e}` / 2',
    'a! / b; "/`"',
    'a.return / b; "/`"',
    'a = 1. / 2; "/`"',
    "it's = 1\n",
    'a = /[/"`]/.test(b)',
    'return /`/',
    'a = {}; typeof /`/',
    'x = "a\nb',
    'y = /`\nz',
    "```ts\nconst a = `it's ${b}`\n```",
    'a\\u0062 = `${`${`}`}`}`',
    'x = a < b > c << d',
  ])('after %j the script is back in code', (body) => {
    expect(brief(`<tool-calls>${body}</tool-calls>.`)).toEqual([
      ['script', body],
      ['text', '.'],
    ]);
  });

  it('a script that contains script tags in strings is one script', () => {
    const body =
      'await tools.writeFile({ path: "a.md", content: `\n<tool-calls>\nreturn 1\n</tool-calls>\n</tool-calls>\n<tool-calls>\n` });\n';
    expect(brief(`<tool-calls>\n${body}</tool-calls>\n<tool-calls>2</tool-calls>`)).toEqual([
      ['script', body],
      ['text', '\n'],
      ['script', '2'],
    ]);
  });

  it('a script is emitted with the last character of its closing tag', () => {
    const answer = 'text\n<tool-calls>\nreturn 1\n</tool-calls>';
    expect(pushesUntilScript([...answer])).toBe(answer.length - 1);
    expect(pushesUntilScript(['```ts tool-calls\nreturn 1\n``', '`', '\n', 'more'])).toBe(2);
  });
});

describe('malformed blocks', () => {
  it.each([
    ['template', 'const a = `oops', 'template literal', 11],
    ['comment', 'const a = /* oops', 'comment', 11],
  ])('a stray %s affects only its own block, and the failure names its start', (_, body, what, column) => {
    const answer = `<tool-calls>\nf();\n${body}\n  </tool-calls>\ntext\n<tool-calls>\nreturn 2\n</tool-calls>\n`;
    expect(brief(answer)).toEqual([
      ['malformed', `f();\n${body}\n  `],
      ['text', '\ntext\n'],
      ['script', 'return 2\n'],
      ['text', '\n'],
    ]);
    expect(failureOf(answer)).toEqual({
      code: 'ScriptSyntaxError',
      phase: 'detecting',
      message: `The ${what} that begins on line 2 is still open at the script's </tool-calls>. Close the ${what}, and send the script again.`,
      line: 2,
      column,
      retryable: true,
      metadata: {},
    });
  });

  it('a stray template in a fence ends at the next closing line, at once', () => {
    const detector = createDetector();
    const events = detector.push('```ts tool-calls\nconst a = `oops\n```\n');
    expect(events[0]).toMatchObject({
      segment: { type: 'malformed', source: 'const a = `oops\n', failure: { line: 1, column: 11 } },
    });
    expect(events[1]).toEqual({ type: 'text_delta', text: '\n' });
  });

  it('a stray comment in a fence ends at the first closing line', () => {
    expect(brief('```ts tool-calls\n/* oops\n```\nb\n```js tool-calls\nreturn 2\n```')).toEqual([
      ['malformed', '/* oops\n'],
      ['text', '\nb\n'],
      ['script', 'return 2\n'],
    ]);
  });

  it('a nested block is malformed up to its own close', () => {
    const answer = '<tool-calls>\na\n<tool-calls>b</tool-calls></tool-calls>c';
    expect(brief(answer)).toEqual([
      ['malformed', 'a\n<tool-calls>b</tool-calls>'],
      ['text', 'c'],
    ]);
    expect(failureOf(answer)).toMatchObject({
      line: 2,
      column: 1,
      message: expect.stringMatching(/^Another <tool-calls> opens on line 2/),
    });
    expect(brief('```ts tool-calls\na\n```js tool-calls\nb\n```\n```\nc')).toEqual([
      ['malformed', 'a\n```js tool-calls\nb\n```\n'],
      ['text', '\nc'],
    ]);
  });

  it('a block that was not closed before the next one includes no text after that one', () => {
    expect(
      brief('<tool-calls>\na\n\ntext\n<tool-calls>\nb\n</tool-calls>\nc\n<tool-calls>\nd\n</tool-calls>\ne'),
    ).toEqual([
      ['malformed', 'a\n\ntext\n<tool-calls>\nb\n'],
      ['text', '\nc\n'],
      ['script', 'd\n'],
      ['text', '\ne'],
    ]);
  });

  it('an opening tag in a string of the script is not nested', () => {
    expect(brief('<tool-calls>f("<tool-calls>", `<tool-calls>`)</tool-calls>')).toEqual([
      ['script', 'f("<tool-calls>", `<tool-calls>`)'],
    ]);
  });

  it.each([
    ['<tool-calls>\nreturn 1', 'return 1', /ended before the script's <\/tool-calls>\. /],
    ['<tool-calls>', '', /ended before/],
    [
      '<tool-calls>\nreturn `1 </tool-calls>',
      'return `1 </tool-calls>',
      /inside the template literal that begins on line 1/,
    ],
    ['<tool-calls>\nreturn 1\n</tool-calls', 'return 1\n</tool-calls', /ended before/],
    ['```ts tool-calls\nreturn 1\n``', 'return 1\n``', /closing line of backticks/],
    ['```ts tool-calls', '', /ended before/],
  ])('the unfinished block %j runs nothing', (answer, source, message) => {
    expect(brief(`a\n${answer}`)).toEqual([
      ['text', 'a\n'],
      ['malformed', source],
    ]);
    expect(failureOf(answer).message).toMatch(message);
  });

  it('an unfinished tag at the end of the answer is text', () => {
    expect(brief('a <tool-calls')).toEqual([['text', 'a <tool-calls']]);
    expect(brief('a <tool-calls lang="js"')).toEqual([['text', 'a <tool-calls lang="js"']]);
  });

  it('a closing tag without an opening one is a separate malformed segment', () => {
    expect(brief('a</tool-calls>b')).toEqual([
      ['text', 'a'],
      ['malformed', ''],
      ['text', 'b'],
    ]);
    expect(failureOf('</tool-calls>').message).toMatch(/has no <tool-calls> before it/);
  });
});

describe('events', () => {
  it('deltas of text and reasoning precede the segment that contains all of them', () => {
    const detector = createDetector();
    expect(detector.push('ab<thi')).toEqual([{ type: 'text_delta', text: 'ab' }]);
    expect(detector.push('nk>c')).toEqual([
      { type: 'segment', segment: { type: 'text', raw: 'ab', text: 'ab' } },
      { type: 'reasoning_delta', text: 'c' },
    ]);
    expect(detector.push('</thi')).toEqual([]);
    expect(detector.push('s')).toEqual([{ type: 'reasoning_delta', text: '</this' }]);
    expect(detector.end()).toEqual([
      { type: 'segment', segment: { type: 'reasoning', raw: '<think>c</this', text: 'c</this' } },
    ]);
  });

  it('an empty answer has no segments', () => {
    expect(detectScripts('')).toEqual([]);
  });

  it('a second end returns nothing, and a push after the end is rejected', () => {
    const detector = createDetector();
    detector.push('a');
    expect(detector.end()).toHaveLength(1);
    expect(detector.end()).toEqual([]);
    expect(() => detector.push('b')).toThrow(/has ended/);
  });

  it('a delta that is not a string is rejected', () => {
    expect(() => createDetector().push(new Uint8Array(1) as unknown as string)).toThrow(/needs a string/);
  });

  it('two detectors are independent', () => {
    const [one, two] = [createDetector(), createDetector()];
    one.push('<tool-calls>1');
    expect(two.push('a')).toEqual([{ type: 'text_delta', text: 'a' }]);
    expect(one.push('</tool-calls>')).toMatchObject([{ segment: { source: '1' } }]);
  });
});

describe('input of every kind', () => {
  it('a byte order mark before a tag or a fence is text', () => {
    expect(brief('\uFEFF<tool-calls>1</tool-calls>')).toEqual([
      ['text', '\uFEFF'],
      ['script', '1'],
    ]);
    expect(brief('\uFEFF```ts tool-calls\n1\n```')).toEqual([
      ['text', '\uFEFF'],
      ['script', '1\n'],
    ]);
  });

  it('lone surrogates, NUL and control characters keep their place', () => {
    const odd = 'a\uD800\u0000\u001B\uDC00\u2028';
    expect(brief(`${odd}<tool-calls>"${odd}"</tool-calls>${odd}`)).toEqual([
      ['text', odd],
      ['script', `"${odd}"`],
      ['text', odd],
    ]);
  });

  it('CR LF works as LF does', () => {
    expect(
      brief('a `\r\n\r\n```ts tool-calls\r\nreturn "x\r\n```\r\n<tool-calls>\r\n// a\r\n</tool-calls>\r\n'),
    ).toEqual([
      ['text', 'a `\r\n\r\n'],
      ['script', 'return "x\r\n'],
      ['text', '\r\n'],
      ['script', '// a\r\n'],
      ['text', '\r\n'],
    ]);
  });

  it('a thousand blocks are a thousand scripts', () => {
    const answer = Array.from(
      { length: 1000 },
      (_, index) => `${index}\n<tool-calls>\nreturn ${index}\n</tool-calls>\n`,
    ).join('');
    expect(only(answer, 'script')).toHaveLength(1000);
  });

  it('ten megabytes of text around a script keep every byte', () => {
    const text = 'All work and no play makes `code` a dull span.\n'.repeat(220_000);
    expect(brief(`${text}<tool-calls>\nreturn 1\n</tool-calls>${text}`)).toEqual([
      ['text', text],
      ['script', 'return 1\n'],
      ['text', text],
    ]);
  });

  it('ten megabytes of script are one script', () => {
    const body = 'f(`${[{ a: "}" }]}`); // comment\n'.repeat(300_000);
    expect(brief(`<tool-calls>\n${body}</tool-calls>`)).toEqual([['script', body]]);
  });
});

it('closing tags of markup hide no closing tag of the block', () => {
  const source = '<invoke name="add">\n<parameter name="a">1</parameter>\n<parameter name="b">2</parameter></invoke>\n';
  expect(detectScripts(`<tool-calls>\n${source}</tool-calls>`)).toMatchObject([{ type: 'script', source }]);
  const comments = 'return 1 </* one */ 2 <// two\n3;\n';
  expect(detectScripts(`<tool-calls>\n${comments}</tool-calls>`)).toMatchObject([{ type: 'script', source: comments }]);
});
