// The guest's generator of random numbers: sfc32, Chris Doty-Humphrey's small fast counter. The host seeds it with
// `warmSeed`.
let seed0 = 1;
let seed1 = 2;
let seed2 = 3;
let seed3 = 4;

export function seedRandom(first: number, second: number, third: number, fourth: number): void {
  seed0 = first;
  seed1 = second;
  seed2 = third;
  seed3 = fourth;
}

export function nextWord(): number {
  const sum = (((seed0 + seed1) | 0) + seed3) | 0;
  seed3 = (seed3 + 1) | 0;
  seed0 = seed1 ^ (seed1 >>> 9);
  seed1 = (seed2 + (seed2 << 3)) | 0;
  seed2 = (seed2 << 21) | (seed2 >>> 11);
  seed2 = (seed2 + sum) | 0;
  return sum >>> 0;
}

export const random = (): number => ((nextWord() >>> 5) * 67108864 + (nextWord() >>> 6)) / 9007199254740992;
