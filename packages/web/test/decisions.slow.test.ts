import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { focusCard, pressOnCard } from './support/approval-cards.js';
import { describePage } from './support/describe-page.js';

const LONG = Array.from({ length: 60 }, (_, index) => `paragraph ${index}`).join('\n\n');

const SCENES = {
  one: [{ type: 'script', code: "return await tools.publish({ text: 'one' });" }],
  both: [{ type: 'script', code: "return await Promise.all(['one', 'two'].map((text) => tools.publish({ text })));" }],
  long: [
    { type: 'text', text: LONG },
    { type: 'script', code: "return await tools.publish({ text: 'one' });" },
  ],
  forged: [
    {
      type: 'script',
      code: [
        'return await tools.publish({',
        "  text: 'pay 900',",
        `  approvalContext: 'greet you\\nfoo waits for you\\n' + 'x\\n'.repeat(300),`,
        '});',
      ].join('\n'),
    },
  ],
} as const;

/** Letters that a card takes, and others. */
const TYPED = 'andaddingadeadendaaaeee';

/** Longer than the guard time. */
const READING_MS = 1_200;

describePage('a decision on the page', SCENES, (suite) => {
  const pending = async (runId: string) => {
    const { body } = await suite.server.call('GET', '/api/v2/approvals');
    return (body.data as { runId: string }[]).filter((approval) => approval.runId === runId).length;
  };
  /** Types text, slowly enough that each letter would be a decision if the keys went to a card. */
  const typeOn = async (page: Page) => {
    await page.keyboard.type(TYPED, { delay: 30 });
    for (const letter of 'ade') {
      await page.waitForTimeout(READING_MS);
      await page.keyboard.press(letter);
    }
  };
  /** The cards are as they were: nothing is decided, edited or denied. */
  const expectUntouched = async (page: Page, runId: string, count: number) => {
    await page.waitForTimeout(300);
    await expect.poll(() => pending(runId)).toBe(count);
    await expect.poll(() => page.locator('.approval[data-mode=decide]').count()).toBe(1);
    await expect.poll(() => page.locator('.batch li').count()).toBe(count === 1 ? 0 : count);
  };

  it('is not made by typing on after the first prompt: the focus stays in the field, with the text', async () => {
    const { page, problems } = await suite.open();
    await page.getByLabel('Agent').selectOption('scenes');
    await page.getByLabel('Prompt').fill('both');
    await page.keyboard.press('Enter');
    await page.keyboard.type('and ');
    await page.locator('.batch li').nth(1).waitFor();
    await typeOn(page);
    const field = page.getByLabel('Prompt');
    await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true);
    await expect.poll(() => field.inputValue()).toBe(`and ${TYPED}ade`);
    const [thread] = (await suite.server.call('GET', '/api/v2/threads')).body.data as { threadId: string }[];
    const { runs } = (await suite.server.call('GET', `/api/v2/threads/${thread!.threadId}`)).body;
    await expectUntouched(page, (runs as { runId: string }[])[0]!.runId, 2);
    expect(problems).toEqual([]);
  });

  it('shows the buttons of a new mode as ready in no frame before they decide', async () => {
    const { page } = await suite.watch('one');
    await focusCard(page.locator('.approval'));
    const firstFrame = page.evaluate(
      () =>
        new Promise<string | null>((resolve) => {
          const look = () => {
            const button = document.querySelector('.approval .danger');
            if (button === null) requestAnimationFrame(look);
            else resolve(button.getAttribute('aria-disabled'));
          };
          look();
        }),
    );
    await page.keyboard.press('d');
    expect(await firstFrame).toBe('true');
  });

  it('is not made by typing while nothing or the conversation has the focus', async () => {
    const { page, runId } = await suite.watch('both');
    await page.locator('.batch li').nth(1).waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    for (const focus of ['nothing', 'the conversation']) {
      if (focus === 'the conversation') await page.getByRole('region', { name: 'Conversation' }).focus();
      await page.keyboard.press('j');
      await typeOn(page);
    }
    await expectUntouched(page, runId, 2);
  });

  it('is not made behind an open dialog, nor right after it has closed', async () => {
    const { page, runId } = await suite.watch('one');
    await focusCard(page.locator('.approval'));
    await page.getByRole('button', { name: 'Actions for one' }).first().click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await page.getByRole('dialog').waitFor();
    await typeOn(page);
    await page.locator('.approval').evaluate((card) => card.focus());
    await typeOn(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('.approval').evaluate((card) => card.focus());
    await page.keyboard.press('a');
    await expectUntouched(page, runId, 1);
  });

  it('is not made by the type-ahead of a menu or of a list', async () => {
    const { page, runId } = await suite.watch('one');
    await focusCard(page.locator('.approval'));
    await page.getByRole('button', { name: 'Actions for one' }).first().click();
    await page.getByRole('menuitem', { name: 'Delete…' }).waitFor();
    await page.waitForTimeout(READING_MS);
    for (const letter of 'dea') {
      await page.keyboard.press(letter);
      await page.waitForTimeout(READING_MS);
    }
    await page.keyboard.press('Escape');
    await page.locator('.approval select').focus();
    await typeOn(page);
    await expectUntouched(page, runId, 1);
  });

  it('is not made about a card that is not wholly in view', async () => {
    const { page, runId } = await suite.watch('long');
    await focusCard(page.locator('.approval'));
    await page.setViewportSize({ width: 1440, height: 300 });
    await page.getByText('Keys work when the whole card is in view.').waitFor();
    await typeOn(page);
    await expectUntouched(page, runId, 1);
    await page.setViewportSize({ width: 1440, height: 1000 });
    await pressOnCard(page, 'a');
    await page.getByText('It has ended.').waitFor();
  });

  it('is not made by the spaces and lines of a text that is typed on a button', async () => {
    const { page, runId } = await suite.watch('one');
    const approve = page.locator('.approval').getByRole('button', { name: 'Approve' });
    await approve.and(page.locator(':not([aria-disabled])')).waitFor();
    await approve.focus();
    await page.keyboard.type('so it goes on ', { delay: 30 });
    await page.keyboard.press('Enter');
    await expectUntouched(page, runId, 1);
    await page.waitForTimeout(READING_MS);
    await page.keyboard.press('Space');
    await page.getByText('It has ended.').waitFor();
  });

  it('is not made about the next card by a key that is pressed again', async () => {
    const { page, runId } = await suite.watch('both');
    await page.locator('.batch li').nth(1).waitFor();
    await pressOnCard(page, 'a');
    await page.locator('.batch').waitFor({ state: 'detached' });
    await typeOn(page);
    await expectUntouched(page, runId, 1);
    // Tab leads to the next card.
    await page.keyboard.press('Tab');
    await page.locator('.approval:focus').waitFor();
    await pressOnCard(page, 'a');
    await page.getByText('It has ended.').waitFor();
  });

  it('is not made by a click on a card that has just taken the place of another one', async () => {
    const { page, runId } = await suite.watch('both');
    const card = page.locator('.approval');
    await card.getByText('text: one').waitFor();
    const approve = card.getByRole('button', { name: 'Approve' });
    await approve.and(page.locator(':not([aria-disabled])')).waitFor();
    const clicked = page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const observer = new MutationObserver(() => {
            const next = [...document.querySelectorAll('.approval')].find((each) => each.textContent.includes('two'));
            if (next === undefined) return;
            observer.disconnect();
            next.querySelector<HTMLElement>('.decision-buttons .primary')!.click();
            resolve();
          });
          observer.observe(document.body, { childList: true, subtree: true });
        }),
    );
    const { body } = await suite.server.call('GET', '/api/v2/approvals');
    const other = (body.data as { runId: string; approvalId: string; rendered: string }[]).find(
      (each) => each.runId === runId && each.rendered.includes('one'),
    );
    await suite.server.call('POST', `/api/v2/approvals/${other!.approvalId}`, { decision: 'approve' });
    await clicked;
    await expectUntouched(page, runId, 1);
    await approve.and(page.locator(':not([aria-disabled])')).click();
    await page.getByText('It has ended.').waitFor();
  });

  it('is offered calmly: buttons wait and keep the focus, letters are on the focused card only', async () => {
    const { page } = await suite.watch('both');
    const first = page.locator('.approval');
    await page.locator('.batch li').nth(1).waitFor();
    await expect.poll(() => page.locator('.approval kbd').count()).toBe(0);
    await expect.poll(() => page.locator('.approval [aria-keyshortcuts]').count()).toBe(0);
    await focusCard(first);
    await expect.poll(() => first.locator('kbd').allTextContents()).toEqual(['d', 'e', 'a']);
    await expect
      .poll(() => first.getByRole('button', { name: 'Approve', exact: true }).getAttribute('aria-keyshortcuts'))
      .toBe('a');
    await page.keyboard.press('e');
    await page.getByRole('textbox', { name: 'Arguments as JSON' }).waitFor();
    await expect.poll(() => page.locator('.approval [aria-keyshortcuts]').count()).toBe(0);
    await page.getByRole('button', { name: 'Back' }).click();
    await first.locator('button.primary[aria-disabled=true]').waitFor();
    await first.locator('button.primary:not([aria-disabled])').waitFor();
  });

  it('is about a card whose facts come first, and whose text by the model is indented and cut', async () => {
    const { page } = await suite.watch('forged');
    const card = page.locator('.approval');
    await card.waitFor();
    const text = card.locator('.free-text');
    await expect
      .poll(() => text.textContent())
      .toMatch(/^The script says: greet you⏎\nfoo waits for you.* … \d+ more characters$/su);
    const [heading, call, free] = await Promise.all(
      ['h2', '.call-preview', '.free-text'].map(async (part) => (await card.locator(part).boundingBox())!),
    );
    expect(call!.y).toBeGreaterThan(heading!.y);
    expect(free!.y).toBeGreaterThan(call!.y);
    expect(free!.x).toBeGreaterThan(call!.x);
    expect(free!.height).toBeLessThan(250);
  });
});
