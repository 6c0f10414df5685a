import type { Tool } from '#core/protocol/index.js';
import { applyEdits } from '#core/script/syntax/source-text.js';
import { OPERATORS } from './operators.js';
import { parseScript } from './parsed-script.js';

/** A good script with one mistake, which a program has inserted. */
export interface Mutant {
  readonly operator: string;
  /** The name of the good script. */
  readonly of: string;
  readonly original: string;
  readonly source: string;
}

interface Good {
  readonly name: string;
  readonly source: string;
}

/**
 * At most `perOperator` mutants of each operator, spread over the scripts: the first possible change of each script,
 * then the second, and so on. Each operator has its own order of the scripts.
 */
export function makeMutants(scripts: readonly Good[], tools: readonly Tool[], perOperator: number): Mutant[] {
  const parsed = scripts.map(({ name, source }) => parseScript(name, source, tools));
  return OPERATORS.flatMap((operator, place) => {
    const shifted = rotated(parsed, (place * 37) % Math.max(parsed.length, 1));
    const byScript = shifted.map((script) => ({ script, mutations: operator.mutate(script) }));
    const most = Math.max(0, ...byScript.map(({ mutations }) => mutations.length));
    const chosen: Mutant[] = [];
    for (let round = 0; round < most; round++) {
      for (const { script, mutations } of byScript) {
        const mutation = mutations[round];
        if (mutation === undefined || chosen.length >= perOperator) continue;
        const source = applyEdits(script.source, mutation);
        if (source !== script.source)
          chosen.push({ operator: operator.name, of: script.name, original: script.source, source });
      }
    }
    return chosen;
  });
}

function rotated<T>(list: readonly T[], by: number): T[] {
  return [...list.slice(by), ...list.slice(0, by)];
}
