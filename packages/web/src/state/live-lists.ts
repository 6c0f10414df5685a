import type { Session } from './session.ts';

/**
 * The time in ms after which a hidden tab closes its connection. A browser allows only a few connections to each
 * server.
 */
const HIDDEN_MS = 20_000;

/**
 * Reads the lists again after each change that the server reports. Without a connection, and while the page is hidden,
 * the lists are polled. Returns a function that stops the updates.
 */
export function followChanges({ client, threads, approvals }: Session): () => void {
  const lists = [threads, approvals];
  let stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const setLive = (isLive: boolean) => {
    for (const list of lists) list.setRefreshed(isLive);
  };
  const follow = async () => {
    stop = new AbortController();
    const { signal } = stop;
    try {
      for await (const _change of client.changes({ signal, maxRetries: Infinity, onRetry: () => setLive(false) })) {
        setLive(true);
        for (const list of lists) void list.refresh();
      }
    } catch {
      // The server refused the stream. The lists are polled and show the reason.
      setLive(false);
    }
  };
  const pause = () => {
    stop.abort();
    setLive(false);
  };
  const onVisibility = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(pause, HIDDEN_MS);
    else if (stop.signal.aborted) void follow();
  };
  document.addEventListener('visibilitychange', onVisibility);
  void follow();
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisibility);
    stop.abort();
  };
}
