import assert from 'node:assert/strict';
import test from 'node:test';
import { pieces, total } from '../src/cart.js';

const items = [
  { article: 'pear', price: 0.1, count: 1 },
  { article: 'plum', price: 0.2, count: 1 },
];

test('a cart costs whole cents', () => {
  assert.equal(total(items), 0.3);
});

test('a cart knows its pieces', () => {
  assert.equal(pieces(items), 2);
});
