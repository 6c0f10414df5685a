type Seed = readonly [number, number, number, number];

const WARM_UP_ROUNDS = 12;

/** Runs the guest's generator (sfc32, see `guest/bridge/random.ts`) far enough that a poor seed has no effect. */
export function warmSeed([a, b, c, d]: Seed): Seed {
  let [first, second, third, counter] = [a | 0, b | 0, c | 0, d | 0];
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    const sum = (((first + second) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    first = second ^ (second >>> 9);
    second = (third + (third << 3)) | 0;
    third = (((third << 21) | (third >>> 11)) + sum) | 0;
  }
  return [first, second, third, counter];
}
