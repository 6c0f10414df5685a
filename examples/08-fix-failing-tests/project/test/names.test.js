import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { initials } from '../src/names.js';

describe('names', () => {
  it('are shortened to their initials', () => assert.equal(initials('Ada Lovelace'), 'AL'));
});
