/** An amount as customers see it: `€ 12.50`. */
export function euros(amount) {
  return `€ ${amount.toFixed(2)}`;
}
