import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { scaleTables } from '../service/scale-page.mjs';

const PAGE = new URL('../../docs/explanation/scale.md', import.meta.url);

it('the page about scale shows the figures of the committed results', () => {
  const page = readFileSync(PAGE, 'utf8');
  let shown = page;
  for (const [name, text] of Object.entries(scaleTables())) {
    const block = new RegExp(`(?<=<!-- generated ${name} -->\n)[\\s\\S]*(?=<!-- end of ${name} -->)`, 'u');
    expect(page).toMatch(block);
    shown = shown.replace(block, () => `\n${text}\n`);
  }
  if (process.env.UPDATE_DOCUMENTS === undefined) expect(page).toBe(shown);
  else writeFileSync(PAGE, shown);
});
