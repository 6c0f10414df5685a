import { ORDINARY } from '../../script/ordinary-scripts.js';
import { HOSTILE_SCRIPTS } from '../hostile-scripts.js';

/** Maximum length of a snippet, because longer ones only take more time. */
const MAX_SOURCE = 4_000;

const AsyncFunction = (async () => {}).constructor as new (body: string) => unknown;

/** Scripts of the corpus that are valid inside a function, in JavaScript. */
export const SNIPPETS: readonly string[] = [...HOSTILE_SCRIPTS, ...ORDINARY]
  .map(({ source }) => source)
  .filter((source) => source.length < MAX_SOURCE && isFunctionBody(source));

/** True if the text is a function's body. Compiles it, but never calls it. */
function isFunctionBody(source: string): boolean {
  if (/\b(?:import|arguments)\b/u.test(source)) return false;
  try {
    return typeof new AsyncFunction(`"use strict";\n${source}\n`) === 'function';
  } catch {
    return false;
  }
}
