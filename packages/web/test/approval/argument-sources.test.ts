import type { Approval } from '@toolscript/client';
import { SOURCED_CARDS, sourcedApproval } from '@toolscript/testkit/sourced-approval';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { ArgumentSourceLines } from '../../src/approval/argument-origins.tsx';

async function markup(script: string, from?: string): Promise<string> {
  const { provenance } = await sourcedApproval(script, from);
  return renderToStaticMarkup(
    createElement(ArgumentSourceLines, { approval: { provenance } as Pick<Approval, 'provenance'> as Approval }),
  );
}

const items = (html: string) =>
  [...html.matchAll(/<li[^>]*>(.*?)<\/li>/gu)].map(([, item]) => item!.replaceAll(/<[^>]+>/gu, ''));

it.each(SOURCED_CARDS)('a card of the page names %s', async (_name, script, lines) => {
  const html = await markup(script);
  expect(items(html)).toEqual(lines);
  expect(html.includes('Found by equal content, which is no proof.')).toBe(script.includes('$'));
});

it('a card of the page marks the argument because of which it is asked, and no other', async () => {
  const html = await markup(SOURCED_CARDS[0]![1]);
  expect(html).toMatch(/<li data-doubtful="true"><code>to<\/code>: <strong>from readPage/u);
  expect(html.match(/data-doubtful="true"/gu)).toHaveLength(1);
});

it('the place of a source is no markup, and hides nothing', async () => {
  const html = await markup(SOURCED_CARDS[0]![1], '<img src=x onerror=alert(1)>\u202E');
  expect(html).not.toMatch(/<img|\u202E/u);
  expect(html).toContain('&lt;img');
});
