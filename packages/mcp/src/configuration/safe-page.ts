const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** An address to which a user may send secrets: with https, or on this machine, and without a user name. */
export function safePage(address: string): URL | undefined {
  const page = URL.canParse(address) ? new URL(address) : undefined;
  if (page === undefined || page.username !== '' || page.password !== '') return undefined;
  const isSafe = page.protocol === 'https:' || (page.protocol === 'http:' && LOOPBACK.has(page.hostname));
  return isSafe ? page : undefined;
}
