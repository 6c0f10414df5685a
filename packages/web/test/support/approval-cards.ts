import type { Locator, Page } from 'playwright-core';

/** Focuses a card that waits for a decision, and presses one of its keys when they decide. */
export async function pressOnCard(page: Page, key: string, card: Locator = page.locator('.approval').first()) {
  await focusCard(card);
  await page.keyboard.press(key);
}

/** Focuses a card, and waits until its keys decide. */
export async function focusCard(card: Locator): Promise<void> {
  await card.focus();
  await card.locator('[data-keys=ready]').waitFor();
}
