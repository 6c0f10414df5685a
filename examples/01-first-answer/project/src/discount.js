/** An amount after a discount. */
export function discounted(amount, percent) {
  // TODO: refuse percentages below 0 and above 100
  return amount * (1 - percent / 100);
}
