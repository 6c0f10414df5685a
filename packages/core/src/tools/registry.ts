import { ToolscriptUsageError } from '../protocol/errors.js';
import type { Tool } from '../protocol/tools.js';
import { identifierName } from '../text/identifier-name.js';
import { writtenNames } from '../text/identifier-name.js';

/** The tools of one harness, by name and by the form a script writes. Immutable. */
export interface ToolRegistry {
  readonly tools: readonly Tool[];
  /** Finds a tool by any name that a script may write: `get-user` and `get_user` find the same tool. */
  get(name: string): Tool | undefined;
  /** The tools' own names, in the order given. */
  names(): readonly string[];
  /**
   * All names by which scripts may write the tools, with dots for namespaces: each part as an identifier, or
   * unchanged if it is not one. `exposed` (own names) omits the others.
   */
  scriptNames(exposed?: ReadonlySet<string>): readonly string[];
}

/** Throws a `ToolscriptUsageError` if two tools, or a tool and a namespace, would have the same name. */
export function createRegistry(tools: readonly Tool[]): ToolRegistry {
  const byName = new Map<string, Tool>();
  for (const tool of tools) addTool(byName, tool);
  for (const tool of tools) refuseNamespaceClash(byName, tool);
  const list = Object.freeze([...tools]);
  const names = Object.freeze(list.map((tool) => tool.name));
  return Object.freeze({
    tools: list,
    get: (name: string) => byName.get(name),
    names: () => names,
    scriptNames: (exposed?: ReadonlySet<string>) =>
      names.filter((name) => exposed === undefined || exposed.has(name)).flatMap(writtenNames),
  });
}

function addTool(byName: Map<string, Tool>, tool: Tool): void {
  assertTool(tool);
  for (const name of writtenNames(tool.name)) {
    const other = byName.get(name);
    if (other !== undefined) throw new ToolscriptUsageError(duplicateMessage(tool.name, other.name, name));
    byName.set(name, tool);
  }
}

function assertTool(tool: unknown): void {
  const candidate = tool as Partial<Tool> | null;
  if (
    typeof candidate === 'object' &&
    typeof candidate?.name === 'string' &&
    typeof candidate.validateInput === 'function'
  )
    return;
  throw new ToolscriptUsageError('A tool must be made by defineTool.');
}

function duplicateMessage(name: string, other: string, shared: string): string {
  if (name === other) return `Two tools have the name "${name}"; rename one of them.`;
  return `The tools "${other}" and "${name}" would both be written tools.${shared} in a script; rename one of them.`;
}

function refuseNamespaceClash(byName: ReadonlyMap<string, Tool>, tool: Tool): void {
  const parts = identifierName(tool.name).split('.');
  for (let length = 1; length < parts.length; length++) {
    const namespace = parts.slice(0, length).join('.');
    const other = byName.get(namespace);
    if (other !== undefined) {
      throw new ToolscriptUsageError(
        `"${namespace}" is both a tool ("${other.name}") and the namespace of "${tool.name}"; rename one of them.`,
      );
    }
  }
}
