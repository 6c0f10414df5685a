import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isTokenValid } from '../src/token.js';

describe('authentication: token', () => {
  it('holds until it expires', () => {
    assert.equal(isTokenValid({ expiresAt: 200 }, 100), true);
    assert.equal(isTokenValid({ expiresAt: 100 }, 200), false);
  });

  it('is not there when nobody has it', () => {
    assert.equal(isTokenValid(undefined, 100), false);
  });
});
