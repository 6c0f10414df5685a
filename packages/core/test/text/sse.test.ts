import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SseParser, type SseEvent } from '#core/text/sse.js';
import { tries } from '@toolscript/testkit/some-cases';

function parse(pieces: readonly string[], parser = new SseParser()): SseEvent[] {
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
}

const dataOf = (events: readonly SseEvent[]) => events.map(({ data }) => data);

/**
 * The steps of the standard, applied to the whole text at once, which is slow. Keeps an event without its blank line.
 */
function parseSlowly(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  let [name, data] = ['', [] as string[]];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const isOpen = lines.pop()!;
  for (const line of isOpen === '' ? lines : [...lines, isOpen]) {
    if (line === '') {
      if (data.length > 0) events.push({ name, data: data.join('\n'), terminated: true });
      [name, data] = ['', []];
    }
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'data' && line !== '') data.push(value);
    if (field === 'event') name = value;
  }
  if (data.length > 0) events.push({ name, data: data.join('\n'), terminated: false });
  return events;
}

describe('server-sent events', () => {
  test.each<[law: string, text: string, data: string[]]>([
    ['lines end with LF', 'data: a\n\ndata: b\n\n', ['a', 'b']],
    ['lines end with CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['lines end with CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['line ends may be mixed', 'data: a\r\n\ndata: b\n\r\ndata: c\r\n\r', ['a', 'b', 'c']],
    ['several data lines are one text', 'data: a\ndata:\ndata: b\n\n', ['a\n\nb']],
    ['one space after the colon is no data', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
    ['a data line without a colon is an empty line', 'data\n\n', ['']],
    ['comments are no data', ': data: x\n\n:\n\ndata: a\n:x\n\n', ['a']],
    ['other fields are no data', 'id: 1\nretry: 5\nfoo: x\ndatax: y\n\ndata: a\n\n', ['a']],
    ['a byte order mark at the start is skipped', '\ufeffdata: a\n\n', ['a']],
    ['a byte order mark elsewhere is kept', 'data: \ufeffa\n\n', ['\ufeffa']],
    ['line separators of Unicode end no line', 'data: a\u2028b\u2029c\u0085d\n\n', ['a\u2028b\u2029c\u0085d']],
    ['nothing is nothing', '', []],
    ['blank lines are nothing', '\n\r\n\n', []],
  ])('%s', (_, text, data) => {
    expect(dataOf(parse([text]))).toEqual(data);
    expect(dataOf(parse([...text]))).toEqual(data);
  });

  test('an event has the name of its own last event field', () => {
    const events = parse(['event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent: lost\n\ndata: 3\n\n']);
    expect(events.map(({ name, data }) => [name, data])).toEqual([
      ['b', '1'],
      ['', '2'],
      ['', '3'],
    ]);
  });

  test('an event that the end truncates is emitted and marked', () => {
    const [whole, part] = parse(['data: a\n\ndata: {"b"']);
    expect(whole).toEqual({ name: '', data: 'a', terminated: true });
    expect(part).toEqual({ name: '', data: '{"b"', terminated: false });
  });

  test('any text in any chunks gives the events of the standard', () => {
    const part = fc.constantFrom(
      'data',
      'event',
      ':',
      ' ',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      'x',
      '\ufeff',
      '😀',
      'data: a\n\n',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 12 }), (parts, cuts) => {
        const text = parts.join('');
        const expected = parseSlowly(text);
        expect(parse([text])).toEqual(expected);
        const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted((a, b) => a - b);
        expect(parse(places.slice(1).map((end, index) => text.slice(places[index], end)))).toEqual(expected);
      }),
      { numRuns: tries(3000) },
    );
  });

  test('a line of a million chunks is read in linear time', () => {
    const parser = new SseParser();
    const pieces = 1_500_000;
    parser.push('data: ');
    for (let index = 0; index < pieces; index += 1) parser.push('x');
    expect(parser.push('\n\n')[0]?.data).toHaveLength(pieces);
  });

  test('an event that is longer than the maximum ends the reading, whatever its content', () => {
    for (const endless of ['data: xxxxxxxxxxxx', 'data: x\n', ': xxxxxxxxxxxxxxxxx', 'xxxxxxxxxxxxxxxxx']) {
      const parser = new SseParser(100);
      expect(parser.push('data: fits\n\n')).toHaveLength(1);
      for (let times = 0; times < 50 && !parser.hasOverflowed; times += 1) parser.push(endless);
      expect(parser.hasOverflowed).toBe(true);
      expect(parser.push('\n\ndata: later\n\n')).toEqual([]);
      expect(parser.end()).toEqual([]);
    }
  });

  test('many short comments and fields do not count as a long event', () => {
    const parser = new SseParser(100);
    for (let times = 0; times < 100; times += 1) expect(parser.push(': keep alive\nid: 1\n')).toEqual([]);
    expect(parser.hasOverflowed).toBe(false);
    expect(dataOf(parser.push('data: a\n\n'))).toEqual(['a']);
  });
});
