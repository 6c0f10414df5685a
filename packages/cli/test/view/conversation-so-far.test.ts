import type { OutputItem } from '@toolscript/core/protocol';
import { expect, it } from 'vitest';
import { styleFor } from '#cli/terminal/screen.js';
import { conversationSoFar } from '#cli/view/conversation-so-far.js';

const said = (role: 'user' | 'assistant' | 'system', content: string): OutputItem => ({
  type: 'message',
  id: content,
  role,
  content,
});

const settings = { rows: 20, columns: 30, style: styleFor(false), exportCommand: 'toolscript threads export thr_a' };

it('the end of a conversation is shown with prompts and rendered answers, without instructions', () => {
  const items = [said('system', 'Be brief.'), said('user', 'First\nquestion'), said('assistant', 'It is **42**.')];
  expect(conversationSoFar(items, settings)).toEqual(['', '› First', '  question', 'It is 42.']);
});

it('no line is wider than the screen, and no character of a prompt reaches the terminal as a command', () => {
  const items = [said('user', `\u001b[2J${'x'.repeat(100)}`), said('assistant', 'word '.repeat(50))];
  for (const line of conversationSoFar(items, settings)) {
    expect(line.length).toBeLessThanOrEqual(30);
    expect(line).not.toContain('\u001b');
  }
});

it('the beginning is omitted if it does not fit, and a line counts the omitted part', () => {
  const items = Array.from({ length: 10 }, (_, index) => [
    said('user', `q${index}`),
    said('assistant', `a${index}`),
  ]).flat();
  const lines = conversationSoFar(items, { ...settings, rows: 5 });
  expect(lines).toEqual([
    '… 25 lines before, 10 prompts in all: toolscript threads export thr_a',
    '› q8',
    'a8',
    '',
    '› q9',
    'a9',
  ]);
  expect(conversationSoFar([], settings)).toEqual([]);
});
