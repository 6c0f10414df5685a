/** Whether somebody may still come. */
export function isInvitationOpen(invitation, now = Date.now()) {
  if (invitation === undefined) return false;
  return invitation.expiresAt < now;
}
