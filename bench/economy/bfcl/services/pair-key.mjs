/** The same key for two places in either order. */
export function pairKey(one, other) {
  return one < other ? `${one}-${other}` : `${other}-${one}`;
}
