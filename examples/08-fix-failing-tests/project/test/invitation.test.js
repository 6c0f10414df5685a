import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isInvitationOpen } from '../src/invitation.js';

describe('authentication: invitation', () => {
  it('holds until it expires', () => {
    assert.equal(isInvitationOpen({ expiresAt: 200 }, 100), true);
    assert.equal(isInvitationOpen({ expiresAt: 100 }, 200), false);
  });

  it('is not there when nobody has it', () => {
    assert.equal(isInvitationOpen(undefined, 100), false);
  });
});
