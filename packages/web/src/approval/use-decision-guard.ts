import { useEffect, useLayoutEffect, useRef, type RefObject } from 'react';
import { useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import type { CardReadiness } from './decision-guard.ts';

interface GuardedCard {
  readonly readiness: CardReadiness;
  /** Whether an event on a button of the card is a decision. */
  readonly mayDecide: (event: Pick<Event, 'timeStamp'>) => boolean;
}

/**
 * Lets a card take decisions. Elements with `data-read` in it are what the user decides about, and so is its
 * `data-mode`, which is `mode`: no frame shows the buttons of a new mode as ready. `actions`: by decision key.
 */
export function useDecisionGuard(
  cardId: string,
  element: RefObject<HTMLElement | null>,
  mode?: string,
  actions: Readonly<Record<string, () => void>> = {},
): GuardedCard {
  const { decisions } = useSession();
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    if (element.current === null) return undefined;
    return decisions.watch(cardId, { element: element.current, actions: () => latest.current });
  }, [decisions, cardId, element]);
  useLayoutEffect(() => decisions.look(), [decisions, mode]);
  const readiness = useStore(decisions.readiness(cardId));
  return { readiness, mayDecide: (event) => decisions.mayDecide(cardId, event) };
}
