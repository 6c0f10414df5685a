import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './documents.js';

const FOLDER = join(root, 'packages/web/test');
const SINGLE_READ =
  /expect\(\s*await (?:(?!;|expect\().)*?\.(?:allInnerTexts|allTextContents|count|evaluate|evaluateAll|getAttribute|innerText|inputValue|isChecked|isDisabled|isEnabled|isVisible|textContent|title)\(/gsu;

function singleReads(text: string): number[] {
  return [...text.matchAll(SINGLE_READ)].map(({ index }) => text.slice(0, index).split('\n').length);
}

it('a test of the page reads an element until it is as expected, never once: it may not be drawn yet', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.slow.test.ts'));
  expect(files.length).toBeGreaterThan(5);
  const places = files.flatMap((name) =>
    singleReads(readFileSync(join(FOLDER, name), 'utf8')).map((line) => `${name}:${line}`),
  );
  expect(places, 'use expect.poll(() => …)').toEqual([]);
});

it('finds a single read, over several lines too', () => {
  expect(singleReads("a();\nexpect(await page.getByLabel('Prompt').inputValue()).toBe('')")).toEqual([2]);
  expect(singleReads("expect(\n  await page\n    .locator('a')\n    .count(),\n).toBe(1)")).toEqual([1]);
  expect(singleReads("await expect.poll(() => page.locator('a').count()).toBe(1)")).toEqual([]);
});
