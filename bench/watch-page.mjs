/**
 * Records in a page, from its start, the delay between the bytes and the display of the marks `§number§` of a stream,
 * and the duration of its frames, in ms. `watchedText.last` is the last mark that was shown.
 *
 * @param {import('playwright-core').Page} page
 */
export function watchPage(page) {
  return page.addInitScript(() => {
    const MARK = /§(\d+)§/gu;
    const arrived = new Map();
    const watched = { delays: [], frames: [], last: -1 };
    globalThis.watched = watched;

    const decoder = new TextDecoder();
    const { prototype } = ReadableStreamDefaultReader;
    const { value: read } = Object.getOwnPropertyDescriptor(prototype, 'read');
    prototype.read = async function (...rest) {
      const answer = await read.apply(this, rest);
      if (!(answer.value instanceof Uint8Array)) return answer;
      const now = performance.now();
      for (const [, number] of decoder.decode(answer.value).matchAll(MARK))
        if (!arrived.has(Number(number))) arrived.set(Number(number), now);
      return answer;
    };

    const lastMarkOf = (text) => Number([...text.matchAll(MARK)].at(-1)?.[1] ?? -1);
    // The page paints a change of a frame's callback before the next task, and any other change in the next frame.
    let inFrame = false;
    const onFrame = () => {
      inFrame = true;
      setTimeout(() => (inFrame = false));
      requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);
    const nextTask = (run) => setTimeout(() => run());
    const afterPaint = (run) => (inFrame ? nextTask(run) : requestAnimationFrame(() => nextTask(run)));
    let shown = -1;
    let isWaiting = false;
    const noteShown = (number) => {
      shown = Math.max(shown, number);
      if (shown <= watched.last || isWaiting) return;
      isWaiting = true;
      const until = shown;
      afterPaint(() => {
        isWaiting = false;
        const now = performance.now();
        for (; watched.last < until; watched.last += 1) {
          const at = arrived.get(watched.last + 1);
          arrived.delete(watched.last + 1);
          if (at !== undefined) watched.delays.push(now - at);
        }
        noteShown(shown);
      });
    };
    new MutationObserver((records) => {
      for (const { target, addedNodes } of records) {
        if (target.nodeType === Node.TEXT_NODE) noteShown(lastMarkOf(target.data));
        for (const node of addedNodes) noteShown(lastMarkOf(node.textContent ?? ''));
      }
    }).observe(document, { subtree: true, childList: true, characterData: true });
    new PerformanceObserver((list) => {
      for (const { duration, startTime } of list.getEntries()) if (startTime > 1_000) watched.frames.push(duration);
    }).observe({ type: 'long-animation-frame', buffered: true });
  });
}
