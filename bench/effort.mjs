/** How long everything is measured. `quick` keeps the whole run below a minute; its figures are rough. */
export const FULL = {
  rounds: 15,
  blockMs: 150,
  warmMs: 600,
  pacedRounds: 6,
  pacedRuns: 25,
  heavyRounds: 8,
  coldRounds: 10,
  throughputRounds: 6,
  throughputMs: 1_000,
  idleMs: 3_000,
  memoryRounds: 5,
  textBytes: 4 << 20,
  events: 200_000,
};

export const QUICK = {
  rounds: 4,
  blockMs: 30,
  warmMs: 60,
  pacedRounds: 2,
  pacedRuns: 6,
  heavyRounds: 2,
  coldRounds: 2,
  throughputRounds: 2,
  throughputMs: 200,
  idleMs: 1_500,
  memoryRounds: 1,
  textBytes: 1 << 20,
  events: 50_000,
};
