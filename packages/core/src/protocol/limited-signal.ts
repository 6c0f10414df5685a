/** Maximum delay of a timer, in ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Returns a signal that aborts with `signal`, or with a `TimeoutError` after `ms`. The timer keeps no process alive.
 *
 * Node may collect an `AbortSignal.timeout` that only an `AbortSignal.any` refers to, and then it never aborts
 * (https://github.com/nodejs/node/issues/57736). This signal always aborts.
 */
export function limitedSignal(ms: number, signal?: AbortSignal): AbortSignal {
  if (signal?.aborted === true) return signal;
  const controller = new AbortController();
  const follow = () => controller.abort(signal?.reason);
  const expire = () => controller.abort(new DOMException(`The time limit of ${ms} ms has passed.`, 'TimeoutError'));
  const timer = setTimeout(expire, ms);
  timer.unref();
  signal?.addEventListener('abort', follow);
  controller.signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', follow);
    },
    { once: true },
  );
  return controller.signal;
}
