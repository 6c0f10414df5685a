/** Whether a session goes on. */
export function isSessionOpen(session, now = Date.now()) {
  if (session === undefined) return false;
  return session.expiresAt < now;
}
