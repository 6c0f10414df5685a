/** A hidden tab has no frames. In such a tab, `run` is called after this time, in ms. */
const UNPAINTED_MS = 200;

/**
 * Calls `run` before the next frame after `earliest`, a time of `performance.now`. Returns a function that cancels the
 * call.
 */
export function beforeNextFrame(earliest: number, run: () => void): () => void {
  let frame = 0;
  const timers: ReturnType<typeof setTimeout>[] = [];
  const cancel = () => {
    cancelAnimationFrame(frame);
    for (const timer of timers) clearTimeout(timer);
  };
  const once = () => {
    cancel();
    run();
  };
  const request = () => {
    frame = requestAnimationFrame(once);
  };
  const restMs = earliest - performance.now();
  if (restMs > 0) timers.push(setTimeout(request, restMs));
  else request();
  timers.push(setTimeout(once, Math.max(0, restMs) + UNPAINTED_MS));
  return cancel;
}
