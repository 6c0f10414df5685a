import { duration, plural } from './format.ts';
import type { ScriptView } from './types.ts';

/** The words for calls of known tools, before their number and their noun. */
const VERBS: Readonly<Record<string, readonly [verb: string, noun: string]>> = {
  readFile: ['Read', 'file'],
  writeFile: ['Wrote', 'file'],
  listDir: ['Listed', 'folder'],
  exec: ['Ran', 'command'],
  shell: ['Ran', 'command'],
  fetchUrl: ['Fetched', 'page'],
};

/** A script that has ended in one line, such as `Read 60 files · 166 ms`. */
export function scriptSummary({ calls, output }: Pick<ScriptView, 'calls' | 'output'>): string {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const parts = [...counts].map(([tool, count]) => {
    const words = VERBS[tool];
    return words === undefined ? `${tool}${count === 1 ? '' : ` ×${count}`}` : `${words[0]} ${plural(count, words[1])}`;
  });
  const what = parts.length === 0 ? 'Ran a script' : parts.join(', ');
  return output === undefined ? what : `${what} · ${duration(output.metadata.duration_ms)}`;
}
