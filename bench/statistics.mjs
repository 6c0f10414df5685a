/** The value at `fraction` of the sorted numbers, interpolated between neighbours. */
export function quantile(numbers, fraction) {
  if (numbers.length === 0) throw new RangeError('There are no numbers. Measure at least one value.');
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (sorted.length - 1) * fraction;
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}

export function median(numbers) {
  return quantile(numbers, 0.5);
}

/**
 * The summary of a contender's blocks: the median of the blocks' medians, the worst hundredth of all samples, and the
 * noise: the lowest and highest block median.
 *
 * @param {number[][]} blocks
 * @param {'lower' | 'higher'} better
 */
export function summarise(blocks, better) {
  const medians = blocks.map(median);
  const samples = blocks.flat();
  return {
    median: median(medians),
    p99: quantile(samples, better === 'lower' ? 0.99 : 0.01),
    low: Math.min(...medians),
    high: Math.max(...medians),
    samples: samples.length,
  };
}

/**
 * The factor by which `ours` is better, as the median over the rounds. The blocks of one round ran side by side, so
 * the machine affected them equally.
 */
export function timesBetter(ours, theirs, better) {
  const ratios = ours.map((block, round) => median(theirs[round]) / median(block));
  return better === 'lower' ? median(ratios) : 1 / median(ratios);
}
