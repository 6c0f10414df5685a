import { useEffect, type RefObject } from 'react';

/** If the reader is within this distance of the end, in px, the view follows new text. */
const NEAR = 120;

/** Keeps the end of a growing text in view while the reader is at the end. */
export function useStickToEnd(scroller: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = scroller.current;
    const content = element?.firstElementChild;
    if (element === null || content === null || content === undefined) return undefined;
    let isAtEnd = true;
    let lastTop = 0;
    // Growing text also increases the distance to the end. The view stops following only when the reader scrolls up.
    const onScroll = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      if (isNear || element.scrollTop < lastTop) isAtEnd = isNear;
      lastTop = element.scrollTop;
    };
    const observer = new ResizeObserver(() => {
      if (isAtEnd) element.scrollTop = element.scrollHeight;
    });
    observer.observe(content);
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, [scroller]);
}
