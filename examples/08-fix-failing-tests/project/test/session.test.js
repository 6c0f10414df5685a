import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSessionOpen } from '../src/session.js';

describe('authentication: session', () => {
  it('holds until it expires', () => {
    assert.equal(isSessionOpen({ expiresAt: 200 }, 100), true);
    assert.equal(isSessionOpen({ expiresAt: 100 }, 200), false);
  });

  it('is not there when nobody has it', () => {
    assert.equal(isSessionOpen(undefined, 100), false);
  });
});
