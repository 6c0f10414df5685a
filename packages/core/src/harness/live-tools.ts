import { ToolscriptUsageError, type Tool } from '../protocol/index.js';
import { didYouMean } from '../text/nearest-names.js';
import type { HarnessTools } from './harness-types.js';

/** The port through which the tools of a harness are read and replaced. */
export interface ToolHolder {
  /** All tools, exposed or not. */
  all(): readonly Tool[];
  /** The tools that scripts and structured calls may use. */
  exposed(): readonly Tool[];
  /** Throws if the tools are incompatible, and then changes nothing. */
  set(tools: readonly Tool[]): void;
}

export function liveTools(holder: ToolHolder): HarnessTools {
  const change = (method: string, names: readonly string[], tools: readonly Tool[]): void => {
    assertList(names, 'string', `harness.tools.${method} needs a list of names.`);
    assertList(tools, 'object', `harness.tools.${method} needs a list of tools.`);
    holder.set(replaced(holder.all(), names, tools, method));
  };
  return Object.freeze(
    Object.assign(() => holder.exposed(), {
      add: (tools: readonly Tool[]) => change('add', [], tools),
      remove: (names: readonly string[]) => change('remove', names, []),
      replace: (names: readonly string[], tools: readonly Tool[]) => change('replace', names, tools),
    }),
  );
}

function assertList(list: unknown, type: 'string' | 'object', message: string): void {
  const isList = Array.isArray(list) && list.every((element) => typeof element === type);
  if (!isList) throw new ToolscriptUsageError(message);
}

/**
 * A new tool with the name of a removed one takes its position, so that the text for models changes as little as
 * possible.
 */
function replaced(
  all: readonly Tool[],
  names: readonly string[],
  tools: readonly Tool[],
  method: string,
): readonly Tool[] {
  const known = new Set(all.map(({ name }) => name));
  for (const name of names) if (!known.has(name)) throw unknownName(name, [...known], method);
  const removed = new Set(names);
  const added = new Map(tools.map((tool) => [tool.name, tool]));
  const kept = all.flatMap((tool) => {
    if (!removed.has(tool.name)) return [tool];
    const successor = added.get(tool.name);
    return successor === undefined ? [] : [successor];
  });
  const placed = new Set(kept);
  return [...kept, ...tools.filter((tool) => !placed.has(tool))];
}

function unknownName(name: string, known: readonly string[], method: string): ToolscriptUsageError {
  return new ToolscriptUsageError(
    `harness.tools.${method}: there is no tool "${name}".${didYouMean(name, known) || ' harness.catalog().list() lists the tools.'}`,
  );
}
