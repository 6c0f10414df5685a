import { removeToken } from './token.ts';

/** A message between the tabs of one server's page. */
type Message =
  | { readonly type: 'asked' }
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'out' };

/** The channel of the tabs that show the page of this server. */
function openChannel(): BroadcastChannel {
  return new BroadcastChannel(`toolscript ${document.baseURI}`);
}

/** Asks the other tabs for their token. Returns a function that stops the request. */
export function askTabs(onToken: (token: string) => void): () => void {
  const channel = openChannel();
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.type === 'token') onToken(data.token);
  });
  channel.postMessage({ type: 'asked' } satisfies Message);
  return () => channel.close();
}

/**
 * Gives the token to new tabs, until the returned function is called. `onSignedOut` is called after the user has signed
 * out in another tab.
 */
export function shareToken(token: string, onSignedOut: () => void): () => void {
  const channel = openChannel();
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.type === 'asked') channel.postMessage({ type: 'token', token } satisfies Message);
    if (data.type !== 'out') return;
    channel.close();
    onSignedOut();
  });
  return () => channel.close();
}

/** Removes the token from this tab and from the other tabs. */
export function signOutOfTabs(): void {
  removeToken();
  const channel = openChannel();
  channel.postMessage({ type: 'out' } satisfies Message);
  channel.close();
}
