import { stripVTControlCharacters } from 'node:util';
import { SOURCED_CARDS, sourcedApproval } from '@toolscript/testkit/sourced-approval';
import { expect, it } from 'vitest';
import { requestLines } from '#cli/approvals/question.js';
import type { Style } from '#cli/terminal/screen.js';

const plain = (text: string) => text;
const marked = (text: string) => `<${text}>`;
const STYLE: Style = { dim: plain, bold: plain, italic: plain, red: plain, green: plain, yellow: marked, cyan: plain };

async function shown(script: string, from?: string): Promise<string> {
  return requestLines(await sourcedApproval(script, from), STYLE).join('\n');
}

it.each(SOURCED_CARDS)('a question at the terminal names %s', async (_name, script, lines) => {
  const text = await shown(script);
  expect(text.replaceAll(/[<>]/gu, '')).toContain(`  ${lines.join(' · ')}`);
  expect(text.includes('Sources are found by equal content, which is no proof.')).toBe(script.includes('$'));
});

it('a question at the terminal marks the argument because of which it is asked, and no other', async () => {
  const [, script] = SOURCED_CARDS[0]!;
  expect(await shown(script)).toContain('<to: from readPage (line 1, shop.example)> · subject: written in the script');
});

it('the place of a source cannot control the terminal', async () => {
  const [, script] = SOURCED_CARDS[0]!;
  const text = await shown(script, 'shop\u001B[2J\r\u202Eexample');
  expect(stripVTControlCharacters(text)).toBe(text);
  expect(text).not.toMatch(/[\r\u202E]/u);
  expect(text).toContain('to: from readPage (line 1, shop');
});
