import { DECISION_GUARD_MS } from '@toolscript/core/stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecisionGuard, type CardSight } from '#web/approval/decision-guard.ts';
import { tries } from '@toolscript/testkit/some-cases';

/** The page looks at its cards this often, in ms, and at each input. */
const FRAME_MS = 100;

/** A card, and the last move of it that was no scrolling. */
interface ShownCard extends CardSight {
  readonly move: number;
}

interface State {
  readonly cards: readonly ShownCard[];
  readonly focusedCard: string | undefined;
  readonly hasOverlay: boolean;
}

const EMPTY: State = { cards: [], focusedCard: undefined, hasOverlay: false };

/** A page with its guard, and everything that has happened on it. */
class SimulatedPage {
  readonly decisions: string[] = [];
  readonly intentions: string[] = [];
  /** Inputs whose conditions held for so long that the guard, which looks only now and then, must have seen it. */
  readonly clear: string[] = [];
  readonly #guard = new DecisionGuard();
  readonly #history: { readonly at: number; readonly state: State }[] = [{ at: 0, state: EMPTY }];
  #keys: number[] = [];
  #now = 0;
  #count = 0;

  get state(): State {
    return this.#history.at(-1)!.state;
  }

  cardAt(index: number): string | undefined {
    const { cards } = this.state;
    return cards.length === 0 ? undefined : cards[index % cards.length]!.cardId;
  }

  wait(ms: number): void {
    const end = this.#now + ms;
    for (let frame = (Math.floor(this.#now / FRAME_MS) + 1) * FRAME_MS; frame <= end; frame += FRAME_MS)
      this.#guard.see(this.state, frame);
    this.#now = end;
  }

  change(state: Partial<State>): void {
    this.#history.push({ at: this.#now, state: { ...this.state, ...state } });
  }

  changeCards(change: (card: ShownCard) => ShownCard): void {
    this.change({ cards: this.state.cards.map(change) });
  }

  /** A number for a text, a place or a move that no card had before. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  nextPlace() {
    return { top: 1_000 * this.next(), contentTop: 1_000 * this.next(), move: this.next() };
  }

  look(): void {
    this.#guard.see(this.state, Infinity);
  }

  press(): void {
    this.look();
    const input = (cardId: string) => `key ${this.#now} ${cardId}`;
    const decided = this.#guard.press(this.#now);
    if (decided !== undefined) this.decisions.push(input(decided));
    const { focusedCard } = this.state;
    if (focusedCard !== undefined && this.#isKeyMeant(focusedCard, DECISION_GUARD_MS))
      this.intentions.push(input(focusedCard));
    if (focusedCard !== undefined && this.#isKeyMeant(focusedCard, DECISION_GUARD_MS + 2 * FRAME_MS))
      this.clear.push(input(focusedCard));
    this.#keys.push(this.#now);
  }

  click(cardId: string): void {
    this.look();
    const input = `click ${this.#now} ${cardId}`;
    if (this.#guard.mayClick(cardId, this.#now)) this.decisions.push(input);
    if (this.#isClickMeant(cardId, DECISION_GUARD_MS)) this.intentions.push(input);
    if (this.#isClickMeant(cardId, DECISION_GUARD_MS + 2 * FRAME_MS)) this.clear.push(input);
  }

  /** The model of intent: a user means a card with a key after reading it, undisturbed and without typing, for `ms`. */
  #isKeyMeant(cardId: string, ms: number): boolean {
    const content = contentOf(this.state, cardId);
    const wasTyping = this.#keys.some((at) => at > this.#now - ms);
    return (
      !wasTyping &&
      this.#hasBeen(ms, (state) => {
        const card = state.cards.find((one) => one.cardId === cardId);
        return state.focusedCard === cardId && card?.content === content && card?.isWhole === true && !state.hasOverlay;
      })
    );
  }

  /** The model of intent: a user means a card with a click if it has stood under the pointer for `ms`. */
  #isClickMeant(cardId: string, ms: number): boolean {
    const here = this.state.cards.find((one) => one.cardId === cardId);
    return this.#hasBeen(ms, ({ cards, hasOverlay }) => {
      const card = cards.find((one) => one.cardId === cardId);
      return card?.content === here?.content && card?.move === here?.move && !hasOverlay;
    });
  }

  /** True if all states of the last `ms` match. */
  #hasBeen(ms: number, matches: (state: State) => boolean): boolean {
    const from = this.#now - ms;
    const first = this.#history.findLastIndex(({ at }) => at <= from);
    return first !== -1 && this.#history.slice(first).every(({ state }) => matches(state));
  }
}

function contentOf({ cards }: State, cardId: string): string | undefined {
  return cards.find((card) => card.cardId === cardId)?.content;
}

type Step = (page: SimulatedPage) => void;

const index = fc.nat(4);
/** Pauses of a user who types, who looks, and who has read a card. */
const pause = fc.oneof(fc.integer({ min: 1, max: 250 }), fc.integer({ min: 500, max: 1_300 }));

const STEPS = {
  wait: pause.map(
    (ms): Step =>
      (page) =>
        page.wait(ms),
  ),
  arrive: fc.boolean().map((isWhole): Step => (page) => {
    const cardId = `card${page.next()}`;
    const card = { cardId, content: cardId, left: 0, ...page.nextPlace(), isWhole };
    page.change({ cards: [...page.state.cards, card] });
  }),
  leave: index.map((at): Step => (page) => {
    const gone = page.cardAt(at);
    const { cards, focusedCard } = page.state;
    page.change({
      cards: cards.filter(({ cardId }) => cardId !== gone),
      focusedCard: focusedCard === gone ? undefined : focusedCard,
    });
  }),
  // Another tab decides about the card that is shown, and the next one takes its place.
  replace: index.map((at): Step => (page) => {
    const gone = page.cardAt(at);
    const next = `card${page.next()}`;
    page.change({ focusedCard: page.state.focusedCard === gone ? undefined : page.state.focusedCard });
    page.changeCards((card) => (card.cardId === gone ? { ...card, cardId: next, content: next } : card));
  }),
  changeContent: index.map((at): Step => (page) => {
    const changed = page.cardAt(at);
    page.changeCards((card) => (card.cardId === changed ? { ...card, content: `text ${page.next()}` } : card));
  }),
  move: fc.constant<Step>((page) => page.changeCards((card) => ({ ...card, ...page.nextPlace() }))),
  // The content above a card grows, and the view follows.
  follow: fc.constant<Step>((page) => {
    page.changeCards((card) => ({ ...card, contentTop: 1_000 * page.next() }));
    page.look();
  }),
  scroll: fc.boolean().map((isWhole): Step => (page) => {
    page.changeCards((card) => ({ ...card, isWhole, top: 1_000 * page.next() }));
    page.look();
  }),
  focus: fc.option(index, { nil: undefined }).map((at): Step => (page) => {
    page.change({ focusedCard: at === undefined ? undefined : page.cardAt(at) });
    page.look();
  }),
  // A key or a click opens and closes an overlay, and the page looks at each of them.
  overlay: fc.boolean().map((hasOverlay): Step => (page) => {
    page.look();
    page.change({ hasOverlay });
    page.look();
  }),
  type: fc.array(fc.integer({ min: 20, max: 400 }), { maxLength: 8 }).map((gaps): Step => (page) => {
    for (const gap of gaps) {
      page.press();
      page.wait(gap);
    }
  }),
  click: index.map((at): Step => (page) => {
    const cardId = page.cardAt(at);
    if (cardId !== undefined) page.click(cardId);
  }),
  decide: fc.tuple(index, pause).map(([at, ms]): Step => (page) => {
    page.change({ focusedCard: page.cardAt(at), hasOverlay: false });
    page.changeCards((card) => ({ ...card, isWhole: true }));
    page.look();
    page.wait(ms);
    page.press();
  }),
};

const sequence = fc.array(fc.oneof(...Object.values(STEPS)), { minLength: 10, maxLength: 40 });

function play(steps: readonly Step[]): SimulatedPage {
  const page = new SimulatedPage();
  for (const step of steps) step(page);
  return page;
}

describe('a decision on the page', () => {
  it('is always one that the user intended, whatever the user types and clicks and the page shows', () => {
    let decisions = 0;
    fc.assert(
      fc.property(sequence, (steps) => {
        const page = play(steps);
        decisions += page.decisions.length;
        expect(page.decisions.filter((decision) => !page.intentions.includes(decision))).toEqual([]);
        expect(page.clear.filter((intention) => !page.decisions.includes(intention))).toEqual([]);
      }),
      { numRuns: tries(10_000) },
    );
    expect(decisions).toBeGreaterThan(100);
  });

  const card = { cardId: 'one', content: 'publish', left: 10, top: 10, contentTop: 10, isWhole: true, move: 0 };
  const guardOf = (state: Partial<State>) => {
    const guard = new DecisionGuard();
    guard.see({ ...EMPTY, cards: [card], ...state }, 0);
    return guard;
  };

  it('waits for the guard time after the card was shown, and after each key', () => {
    const guard = guardOf({ focusedCard: 'one' });
    expect(guard.readiness('one', DECISION_GUARD_MS - 1)).toEqual({ buttons: 'settling', keys: 'settling' });
    expect(guard.mayClick('one', DECISION_GUARD_MS - 1)).toBe(false);
    expect(guard.mayClick('one', DECISION_GUARD_MS)).toBe(true);
    expect(guard.press(DECISION_GUARD_MS - 1)).toBeUndefined();
    expect(guard.press(DECISION_GUARD_MS)).toBeUndefined();
    expect(guard.press(2 * DECISION_GUARD_MS)).toBe('one');
  });

  it('knows that a key right after another one belongs to a text', () => {
    const guard = guardOf({});
    expect(guard.isTyping(0)).toBe(false);
    guard.press(1_000);
    expect(guard.isTyping(1_000 + DECISION_GUARD_MS - 1)).toBe(true);
    expect(guard.isTyping(1_000 + DECISION_GUARD_MS)).toBe(false);
  });

  it('waits again when no frame has shown what the card shows', () => {
    const guard = guardOf({ focusedCard: 'one' });
    guard.see({ ...EMPTY, cards: [{ ...card, content: 'pay' }], focusedCard: 'one' }, Infinity);
    expect(guard.press(5_000)).toBeUndefined();
    expect(guard.mayClick('one', 5_000)).toBe(false);
  });

  it.each([
    ['that has no focus', { focusedCard: undefined }, { buttons: 'ready', keys: 'unfocused' }],
    ['of which a part is not in view', { cards: [{ ...card, isWhole: false }] }, { buttons: 'ready', keys: 'hidden' }],
    ['behind a dialog', { hasOverlay: true }, { buttons: 'settling', keys: 'unfocused' }],
  ])('is never made with a key on a card %s', (_name, state, readiness) => {
    const guard = guardOf({ focusedCard: 'one', ...state });
    expect(guard.press(10_000)).toBeUndefined();
    guard.see({ ...EMPTY, cards: [card], focusedCard: 'one', ...state }, 20_000);
    expect(guard.readiness('one', 20_000)).toEqual(readiness);
  });

  it.each([
    ['moves slowly', (at: number) => ({ top: 10 + at / 50, contentTop: 10 + at / 50 }), false],
    ['is scrolled', (at: number) => ({ top: 10 + at }), true],
    ['keeps its place while the content above it grows', (at: number) => ({ contentTop: 10 + at }), true],
  ])('waits, or does not, with a click on a card that %s', (_name, place, isDecision) => {
    const guard = guardOf({});
    for (let at = 0; at <= 1_000; at += 100) guard.see({ ...EMPTY, cards: [{ ...card, ...place(at) }] }, at);
    expect(guard.mayClick('one', 1_000)).toBe(isDecision);
  });
});
