/** Whether a token may still be used. */
export function isTokenValid(token, now = Date.now()) {
  if (token === undefined) return false;
  return token.expiresAt < now;
}
