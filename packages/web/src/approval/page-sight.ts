import type { CardSight, PageSight } from './decision-guard.ts';

/** Elements that take keys while they are open. */
const OVERLAYS = 'dialog[open], [role="dialog"], [role="menu"], [role="listbox"]';

/** Elements in which cards scroll. */
const SCROLLERS = '.scroller, .dock-card';

/** Reads from the page how it shows the cards now. */
export function lookAtPage(cards: ReadonlyMap<string, HTMLElement>): PageSight {
  const focusedCard = [...cards].find(([, card]) => takesKeys(card))?.[0];
  return {
    cards: [...cards].map(([cardId, card]) => lookAtCard(cardId, card, cardId === focusedCard)),
    focusedCard,
    hasOverlay: document.querySelector(OVERLAYS) !== null,
  };
}

/** Whether the focus is on a card, or in it outside of text fields. */
export function takesKeys(card: Element): boolean {
  const { activeElement } = document;
  return card.contains(activeElement) && !isTextField(activeElement);
}

function isTextField(element: Element | null): boolean {
  if (!(element instanceof HTMLElement)) return false;
  return (
    element.isContentEditable || element.shadowRoot !== null || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(element.tagName)
  );
}

function lookAtCard(cardId: string, card: HTMLElement, isFocused: boolean): CardSight {
  const content = [...card.querySelectorAll('[data-read]')].map(({ textContent }) => textContent);
  const { left, top } = (card.querySelector('.decision-buttons') ?? card).getBoundingClientRect();
  return {
    cardId,
    content: [card.dataset['mode'], ...content].join('\n'),
    left,
    top,
    contentTop: top + (card.closest(SCROLLERS)?.scrollTop ?? 0),
    // Only keys need the whole card in view, and only the focused card gets keys.
    isWhole: isFocused && document.visibilityState === 'visible' && isInView(card) && !isCovered(card),
  };
}

/** Whether no part of a card is outside of the window or scrolled out of its conversation. */
function isInView(card: Element): boolean {
  const inner = card.getBoundingClientRect();
  const outer = card.closest(SCROLLERS)?.getBoundingClientRect();
  return (
    inner.top >= Math.max(outer?.top ?? 0, 0) - 1 &&
    inner.left >= Math.max(outer?.left ?? 0, 0) - 1 &&
    inner.bottom <= Math.min(outer?.bottom ?? Infinity, innerHeight) + 1 &&
    inner.right <= Math.min(outer?.right ?? Infinity, innerWidth) + 1
  );
}

/** Whether another element lies above a card: a grid of points of the card belongs to the card. */
function isCovered(card: Element): boolean {
  const { left, top, width, height } = card.getBoundingClientRect();
  const shares = [0.02, 0.25, 0.5, 0.75, 0.98];
  return shares.some((across) =>
    shares.some((down) => {
      const hit = document.elementFromPoint(left + across * width, top + down * height);
      return hit !== null && !card.contains(hit);
    }),
  );
}
