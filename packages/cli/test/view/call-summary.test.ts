import { describe, expect, it } from 'vitest';
import { callSummary } from '#cli/view/script-report.js';
import { shortDuration, shownValue } from '#cli/view/values.js';

describe('a name with blanks at its edges', () => {
  it.each(['a.txt ', ' a.txt', '\u00a0a.txt', 'a.txt\u3000'])(
    'is quoted, so that it is distinguishable from others: %j',
    (name) => {
      expect(callSummary({ path: name })).toBe(JSON.stringify(name));
    },
  );
});

describe('a call in a few words', () => {
  it.each([
    [{ path: 'src/a.ts', offset: 1 }, 'src/a.ts'],
    [{ command: ['git', 'commit', '-m', 'two words'] }, 'git commit -m "two words"'],
    [{ patch: '*** Begin Patch\n*** Update File: a.ts\n@@\n*** Add File: b.ts\n' }, 'a.ts, b.ts'],
    [{ content: 'one\ntwo\nthree\n' }, 'one … (3 lines)'],
    [{ plan: [{ step: 'a' }, { step: 'b' }] }, '2 items'],
    [{ deep: { a: 1 } }, '{"a":1}'],
    [{}, ''],
    [undefined, ''],
    ['text', 'text'],
    [{ path: 'a\x1b[2Jb\u202e' }, 'a\\u{1b}[2Jb\\u{202e}'],
  ])('%j is %j', (input, summary) => {
    expect(callSummary(input)).toBe(summary);
  });

  it('is short whatever the arguments are', () => {
    expect(callSummary({ text: 'x'.repeat(1_000_000) }).length).toBeLessThanOrEqual(60);
  });
});

describe('durations', () => {
  it.each([
    [0.4, '0 ms'],
    [999, '999 ms'],
    [1_234, '1.2 s'],
    [61_000, '1 min 1 s'],
    [119_700, '2 min 0 s'],
  ])('%d ms is %s', (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });
});

describe('a value', () => {
  it('is pretty JSON', () => {
    expect(shownValue({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}');
  });

  it('that is too long is truncated and marked', () => {
    expect(shownValue('x'.repeat(10_000))).toMatch(/x\n\[… 6002 more characters; --json prints them all\]$/u);
    expect(shownValue(Array.from({ length: 500 }, () => 1)).split('\n')).toHaveLength(61);
  });

  it('that is absent takes no line', () => {
    expect(shownValue(null)).toBe('');
    expect(shownValue(undefined)).toBe('');
  });
});
