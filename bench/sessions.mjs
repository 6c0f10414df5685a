import { warmUp } from './measure.mjs';

/**
 * Opens a session with every contender, warms it up with the script and its answer, hands them to `use`, and
 * closes them.
 *
 * @param {import('./contenders/tools.mjs').Contender[]} contenders
 * @param {{ workers: number, source: string, answer: unknown, warmMs: number }} options
 * @param {(opened: { contender: object, session: object }[]) => Promise<object>} use
 */
export async function withSessions(contenders, { workers, source, answer, warmMs }, use) {
  const opened = [];
  try {
    for (const contender of contenders) {
      const session = await contender.open({ workers });
      opened.push({ contender, session });
      await warmUp(() => session.run(source), answer, warmMs);
    }
    return await use(opened);
  } finally {
    for (const { session } of opened) await session.close();
  }
}

/** A column of a row from a contender. */
export function entryOf({ name, role, version }, block) {
  return { name, role, version, block };
}
