import { Store } from '../state/store.ts';
import { DecisionGuard, type CardReadiness } from './decision-guard.ts';
import { lookAtPage } from './page-sight.ts';

/** The page is looked at this often, in ms, while it shows cards, because cards also change without input. */
const LOOK_MS = 100;

/** Keys that are no typing: modifiers, and Tab, which moves the focus. */
const NOT_TYPED: ReadonlySet<string> = new Set(['Shift', 'Control', 'Alt', 'Meta', 'CapsLock', 'Tab']);

/** Keys that click the focused button: Enter when it is pressed, Space when it is released. */
const CLICKING: ReadonlySet<string> = new Set(['Enter', ' ']);

export interface WatchedCard {
  readonly element: HTMLElement;
  /** The actions of the card's decision keys, by key. */
  readonly actions: () => Readonly<Record<string, () => void>>;
}

/** Lets keys and clicks decide about the cards of the page, as far as the guard allows it. */
export class DecisionWatch {
  readonly #guard = new DecisionGuard();
  readonly #cards = new Map<string, WatchedCard>();
  readonly #readiness = new Map<string, Store<CardReadiness>>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #frame: number | undefined;
  /** Whether the last key was pressed while the user was typing. */
  #isTyped = false;
  readonly #onKey = (event: KeyboardEvent) => this.#press(event);
  readonly #onKeyUp = (event: KeyboardEvent) => this.#preventTypedClick(event);

  /** Takes what the page has now, and no frame has shown yet. */
  readonly look = () => {
    this.#see(Infinity);
    this.#report();
  };

  /** Watches a card until the returned function is called. */
  watch(cardId: string, card: WatchedCard): () => void {
    if (this.#cards.size === 0) this.#start();
    this.#cards.set(cardId, card);
    return () => {
      this.#cards.delete(cardId);
      this.#readiness.delete(cardId);
      this.look();
      if (this.#cards.size === 0) this.#stop();
    };
  }

  readiness(cardId: string): Store<CardReadiness> {
    let store = this.#readiness.get(cardId);
    if (store === undefined) this.#readiness.set(cardId, (store = new Store(this.#guard.readiness(cardId, 0))));
    return store;
  }

  /** Whether an event on a button of the card is a decision. */
  mayDecide(cardId: string, { timeStamp }: Pick<Event, 'timeStamp'>): boolean {
    this.look();
    return this.#guard.mayClick(cardId, timeStamp);
  }

  #start(): void {
    this.#timer = setInterval(() => this.#lookInFrame(), LOOK_MS);
    // Before the listeners of the page: a key or a click may open or close an overlay, or move the focus.
    addEventListener('keydown', this.#onKey, true);
    addEventListener('keyup', this.#onKeyUp, true);
    for (const type of LOOKS) addEventListener(type, this.look, true);
  }

  #stop(): void {
    clearInterval(this.#timer);
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    removeEventListener('keydown', this.#onKey, true);
    removeEventListener('keyup', this.#onKeyUp, true);
    for (const type of LOOKS) removeEventListener(type, this.look, true);
  }

  /** Looks when the browser is about to show what the page has now. */
  #lookInFrame(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#see(performance.now());
      this.#report();
    });
  }

  #see(shownAt: number): void {
    this.#guard.see(lookAtPage(new Map([...this.#cards].map(([id, { element }]) => [id, element]))), shownAt);
  }

  #report(): void {
    for (const [cardId, store] of this.#readiness) {
      const now = this.#guard.readiness(cardId, performance.now());
      if (now.buttons !== store.value.buttons || now.keys !== store.value.keys) store.set(now);
    }
  }

  #press(event: KeyboardEvent): void {
    this.look();
    if (NOT_TYPED.has(event.key)) return;
    this.#isTyped = this.#guard.isTyping(event.timeStamp);
    this.#preventTypedClick(event);
    const cardId = this.#guard.press(event.timeStamp);
    if (cardId === undefined || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const actions = this.#cards.get(cardId)?.actions() ?? {};
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]!();
  }

  /** A user who types text while a decision button has the focus does not mean the button. */
  #preventTypedClick(event: KeyboardEvent): void {
    const isOnButton = event.target instanceof Element && event.target.closest('.decision-buttons button') !== null;
    if (this.#isTyped && isOnButton && CLICKING.has(event.key)) event.preventDefault();
  }
}

/** Events after which the page may show something else, or send keys elsewhere. */
const LOOKS = ['pointerdown', 'focusin', 'focusout', 'scroll', 'resize', 'visibilitychange'] as const;
