import { discounted } from './discount.js';

/** What a cart costs, in euros. */
export function total(items, discountPercent = 0) {
  const sum = items.reduce((before, item) => before + item.price * item.count, 0);
  // TODO: round to whole cents
  return discounted(sum, discountPercent);
}

/** How many pieces are in a cart. */
export function pieces(items) {
  return items.reduce((before, item) => before + item.count, 0);
}
