import { describe, expect, it } from 'vitest';
import { Screen, wantsColour } from '#cli/terminal/screen.js';
import { cutToWidth } from '#cli/terminal/width.js';

function streams(isTTY: boolean) {
  const written: string[] = [];
  const stream = { isTTY, columns: 80, write: (text: string) => written.push(text) };
  return { written, stream };
}

describe('the screen', () => {
  it('draws no live line and no control sequence in a pipe', () => {
    const { written, stream } = streams(false);
    const screen = new Screen(stream, stream, {});
    screen.setLive('working');
    screen.line('done');
    expect(written).toEqual(['done\n']);
  });

  it('removes the live line before anything is written, and shows it again below', () => {
    const { written, stream } = streams(true);
    const screen = new Screen(stream, stream, { NO_COLOR: '1' });
    screen.setLive('working');
    screen.line('done');
    expect(written).toEqual(['working', '\r\x1b[2K', 'done\n', 'working']);
  });

  it('holds output back while a question is open, and keeps its order', () => {
    const { written, stream } = streams(true);
    const screen = new Screen(stream, stream, { NO_COLOR: '1' });
    screen.hold();
    screen.write('half');
    screen.line('whole');
    screen.warn('warning');
    expect(written).toEqual([]);
    screen.release();
    expect(written.join('')).toBe('half\nwhole\nwarning\n');
  });

  it('cuts a live line to the width of the terminal, wide characters counted twice', () => {
    expect(cutToWidth('abcdef', 6)).toBe('abcdef');
    expect(cutToWidth('abcdefg', 6)).toBe('abcde…');
    expect(cutToWidth('日本語日本語', 6)).toBe('日本…');
    expect(cutToWidth('', 6)).toBe('');
  });
});

describe('colour', () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [false, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ])('on a terminal (%s) with %j is %s', (isTerminal, environment, expected) => {
    expect(wantsColour(isTerminal, environment)).toBe(expected);
  });
});
