import { useEffect, useRef, type RefObject } from 'react';
import type { LinkTarget } from '../state/route.ts';

/** If the reader is within this distance of the end, in px, the view follows new text. */
const NEAR = 120;

/** The acts of a reader who looks elsewhere. */
const READS = ['wheel', 'pointerdown', 'touchstart', 'keydown'] as const;

/**
 * Keeps the end of a growing text in view while the reader is at the end; or the target of the address, until the reader
 * looks elsewhere.
 */
export function useStickToEnd(scroller: RefObject<HTMLElement | null>, target: LinkTarget | undefined): void {
  const wanted = useRef(target);
  useEffect(() => {
    wanted.current = target;
    if (scroller.current !== null && target !== undefined) showTarget(scroller.current, target);
  }, [scroller, target]);
  useEffect(() => {
    const element = scroller.current;
    const content = element?.firstElementChild;
    if (element === null || content === null || content === undefined) return undefined;
    let isAtEnd = wanted.current === undefined;
    let lastTop = 0;
    // Growing text also increases the distance to the end. The view stops following only when the reader scrolls up.
    const onScroll = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      if (wanted.current === undefined && (isNear || element.scrollTop < lastTop)) isAtEnd = isNear;
      lastTop = element.scrollTop;
    };
    const onRead = () => {
      wanted.current = undefined;
    };
    const observer = new ResizeObserver(() => {
      if (wanted.current !== undefined) showTarget(element, wanted.current);
      else if (isAtEnd) element.scrollTop = element.scrollHeight;
    });
    observer.observe(content);
    element.addEventListener('scroll', onScroll, { passive: true });
    for (const type of READS) element.addEventListener(type, onRead, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
      for (const type of READS) element.removeEventListener(type, onRead);
    };
  }, [scroller]);
}

/** Brings the turn into view, or what is selected in it. */
function showTarget(scroller: HTMLElement, { runId, callId }: LinkTarget): void {
  const turn = document.getElementById(runId);
  const selected = callId === undefined ? undefined : turn?.querySelector('[data-selected]');
  const place = selected ?? turn;
  if (place === null || place === undefined) return;
  const { top } = place.getBoundingClientRect();
  const margin = selected === undefined || selected === null ? 0 : scroller.clientHeight / 3;
  scroller.scrollTop += top - scroller.getBoundingClientRect().top - margin;
}
