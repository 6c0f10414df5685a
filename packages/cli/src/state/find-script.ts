import { listScripts, type KeptScript } from '@toolscript/core';
import { ownCommand } from '../terminal/own-command.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import type { PersistentState } from './persistent-state.js';

/**
 * The stored script whose id is this text, or the only one whose id begins with it. Scripts that have not ended take
 * precedence. Throws a UsageError if no script or several scripts match.
 */
export async function findScript({ store }: PersistentState, text: string): Promise<KeptScript> {
  const scripts = await listScripts(store);
  const open = scripts.filter(({ scriptId, state }) => state !== 'ended' && begins(scriptId, text, 'scr_'));
  return theOne(open.length > 0 ? open : scripts, text, ({ scriptId }) => scriptId, {
    prefix: 'scr_',
    none: `There is no stored script ${visibleLine(text)}. To list the pending scripts: ${ownCommand()} approvals`,
    several: 'Several stored scripts begin with',
  });
}

/**
 * The item whose name is this text, or the only one whose name begins with it. The text may omit `say.prefix`, with
 * which all names begin. Throws a UsageError if no item or several items match.
 */
export function theOne<Item>(
  items: readonly Item[],
  text: string,
  nameOf: (item: Item) => string,
  say: { prefix: string; none: string; several: string },
): Item {
  const exact = items.find((item) => nameOf(item) === text);
  if (exact !== undefined) return exact;
  const found = text === '' ? [] : items.filter((item) => begins(nameOf(item), text, say.prefix));
  const [first, second] = found;
  if (first === undefined) throw new UsageError(say.none);
  if (second === undefined) return first;
  throw new UsageError(`${say.several} ${visibleLine(text)}: ${found.map(nameOf).join(', ')}. Write a longer prefix.`);
}

function begins(name: string, text: string, prefix: string): boolean {
  return name.startsWith(text) || name.startsWith(prefix + text);
}
