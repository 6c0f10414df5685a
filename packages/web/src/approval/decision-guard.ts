import { DECISION_GUARD_MS } from '@toolscript/core/stream';

/** The part of a card that takes decisions which matters for them, as the page shows it. */
export interface CardSight {
  readonly cardId: string;
  /** Everything that the user reads on the card. */
  readonly content: string;
  /** The place of the card's buttons in the window, in px. */
  readonly left: number;
  readonly top: number;
  /** Their top in the scrolled content, in px. Scrolling does not change it. */
  readonly contentTop: number;
  /** Whether the whole card is in view, and nothing covers it. */
  readonly isWhole: boolean;
}

/** The cards that the page shows at one time, and the place where the keys go. */
export interface PageSight {
  readonly cards: readonly CardSight[];
  /** The card that has the focus; undefined if a text field in it, or an element elsewhere, has the focus. */
  readonly focusedCard: string | undefined;
  /** Whether a dialog or a menu is open. */
  readonly hasOverlay: boolean;
}

/** Why the keys or the buttons of a card do not decide yet. */
export interface CardReadiness {
  readonly buttons: 'settling' | 'ready';
  /** `unfocused`: the keys do not go to the card. `hidden`: a part of the card is not in view. */
  readonly keys: 'unfocused' | 'hidden' | 'settling' | 'ready';
}

/** Buttons that moved at most this far, in px, are still at their place. */
const SAME_PLACE_PX = 8;

interface Card {
  sight: CardSight;
  /** The time since which the buttons have their place and the card its content. */
  placedAt: number;
  /** The time since which the whole card is in view with its content. */
  readableAt: number;
}

/**
 * Decides whether a key or a click on a card is a decision about what the card shows.
 *
 * Each condition has the time since which it holds; Infinity: it does not hold, or no frame has shown it yet. Input is a
 * decision if all its conditions have held for DECISION_GUARD_MS:
 *
 * - a key: the card has the focus; it is wholly in view with its content; no overlay is open; no other key was pressed
 * - a click: the card has its content and its place; no overlay is open
 *
 * All times are in ms, by one clock.
 */
export class DecisionGuard {
  #cards: ReadonlyMap<string, Card> = new Map();
  #focusedCard: string | undefined;
  #focusedAt = Infinity;
  #uncoveredAt = Infinity;
  #pressedAt = -Infinity;

  /** Takes what the page shows. `shownAt` is the time of the frame that shows it; Infinity if no frame has shown it. */
  see({ cards, focusedCard, hasOverlay }: PageSight, shownAt: number): void {
    this.#cards = new Map(
      cards.map((sight) => [sight.cardId, seenCard(this.#cards.get(sight.cardId), sight, shownAt)]),
    );
    this.#focusedAt = since(focusedCard !== undefined, focusedCard === this.#focusedCard, this.#focusedAt, shownAt);
    this.#focusedCard = focusedCard;
    this.#uncoveredAt = since(!hasOverlay, true, this.#uncoveredAt, shownAt);
  }

  /** Whether the user is typing: a key was pressed just before. Enter and Space on a button then belong to the text. */
  isTyping(at: number): boolean {
    return at - this.#pressedAt < DECISION_GUARD_MS;
  }

  /** Takes a pressed key. Returns the card that the key may decide about; undefined if there is none. */
  press(at: number): string | undefined {
    const holdsSince = this.#keysHoldSince();
    this.#pressedAt = at;
    // defence: keys-are-not-decisions-at-once
    if (!(at - holdsSince >= DECISION_GUARD_MS)) return undefined;
    return this.#focusedCard;
  }

  /** Whether a click on a button of the card is a decision. */
  mayClick(cardId: string, at: number): boolean {
    // defence: clicks-are-not-decisions-at-once
    if (!(at - this.#buttonsHoldSince(cardId) >= DECISION_GUARD_MS)) return false;
    return true;
  }

  readiness(cardId: string, at: number): CardReadiness {
    const buttons = at - this.#buttonsHoldSince(cardId) >= DECISION_GUARD_MS ? 'ready' : 'settling';
    if (this.#focusedCard !== cardId || this.#uncoveredAt === Infinity) return { buttons, keys: 'unfocused' };
    if (this.#cards.get(cardId)?.sight.isWhole !== true) return { buttons, keys: 'hidden' };
    return { buttons, keys: at - this.#keysHoldSince() >= DECISION_GUARD_MS ? 'ready' : 'settling' };
  }

  #keysHoldSince(): number {
    const readableAt = this.#cards.get(this.#focusedCard ?? '')?.readableAt ?? Infinity;
    return Math.max(readableAt, this.#focusedAt, this.#uncoveredAt, this.#pressedAt);
  }

  #buttonsHoldSince(cardId: string): number {
    return Math.max(this.#cards.get(cardId)?.placedAt ?? Infinity, this.#uncoveredAt);
  }
}

function seenCard(before: Card | undefined, sight: CardSight, shownAt: number): Card {
  const isSame = before?.sight.content === sight.content;
  const place = isSame ? placeAfter(before.sight, sight) : undefined;
  return {
    sight: { ...sight, ...place },
    placedAt: since(true, place !== undefined, before?.placedAt ?? Infinity, shownAt),
    readableAt: since(sight.isWhole, isSame, before?.readableAt ?? Infinity, shownAt),
  };
}

type Place = Pick<CardSight, 'left' | 'top' | 'contentTop'>;

/**
 * The place with which the next one is compared; undefined if the buttons have moved: in the window, and not because
 * the user scrolled. A small difference keeps the earlier place, so that slow moves add up.
 */
function placeAfter(before: Place, { left, top, contentTop }: Place): Place | undefined {
  if (left === before.left && contentTop === before.contentTop) return { left, top, contentTop };
  if (left === before.left && top === before.top) return { left, top, contentTop };
  const isNear = [left - before.left, top - before.top].every((distance) => Math.abs(distance) <= SAME_PLACE_PX);
  return isNear ? { left: before.left, top: before.top, contentTop: before.contentTop } : undefined;
}

/** The time since which a condition holds. */
function since(holds: boolean, isUnchanged: boolean, before: number, shownAt: number): number {
  if (!holds) return Infinity;
  return isUnchanged && before !== Infinity ? before : shownAt;
}
