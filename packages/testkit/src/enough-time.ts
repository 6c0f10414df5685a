/**
 * Repeats an attempt, each time with twice the time, until it has come as far as `isFarEnough` requests: how far a program
 * comes before its time limit depends on the machine.
 */
export async function withEnoughTime<Result>(
  firstMs: number,
  attempt: (ms: number) => Promise<Result>,
  isFarEnough: (result: Result) => boolean,
): Promise<Result> {
  for (let ms = firstMs; ; ms *= 2) {
    const result = await attempt(ms);
    if (isFarEnough(result)) return result;
  }
}
