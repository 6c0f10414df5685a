import { decodedPart } from '../view/decoded.ts';

const KEY = 'toolscript-token';

/**
 * The token after `#token=` in the address, or the one that this tab stored earlier. The token is removed from the
 * address, so that no bookmark and no history contains it.
 */
export function obtainToken(): string | undefined {
  const found = /^#token=(.+)$/u.exec(location.hash)?.[1];
  if (found !== undefined) {
    const token = decodedPart(found);
    if (token === undefined) removeToken();
    else storeToken(token);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return sessionStorage.getItem(KEY) ?? undefined;
}

export function storeToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function removeToken(): void {
  sessionStorage.removeItem(KEY);
}
