const shelves = new Map();

/** Puts pieces of an article on the shelf. */
export function deliver(article, count) {
  shelves.set(article, (shelves.get(article) ?? 0) + count);
}

// TODO: say which article is missing, and how many pieces
/** True where every item of a cart is on the shelf. */
export function available(items) {
  return items.every((item) => (shelves.get(item.article) ?? 0) >= item.count);
}
