import { ToolscriptUsageError } from '../protocol/errors.js';
import type { Tool } from '../protocol/tools.js';
import { identifierName, writtenNames } from '../text/identifier-name.js';
import { didYouMean } from '../text/nearest-names.js';

/** The tools of one harness, by name and by each form that a script may write. Immutable. */
export interface ToolRegistry {
  readonly tools: readonly Tool[];
  /** Finds a tool by any name that a script may write: `get-user` and `get_user` find the same tool. */
  get(name: string): Tool | undefined;
  /** Returns the tools' own names, in the order given. */
  names(): readonly string[];
  /**
   * Returns all names by which scripts may write the tools, with dots for namespaces. Each part of a name is either an
   * identifier or the unchanged part of the tool's own name. `exposed`: own names; all other tools are omitted.
   */
  scriptNames(exposed?: ReadonlySet<string>): readonly string[];
}

/**
 * Creates a registry. Throws a `ToolscriptUsageError` if two tools, or a tool and a namespace, would have the same
 * name.
 */
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
    if (other !== undefined) throw nameClash(tool.name, other.name, name);
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
  throw new ToolscriptUsageError('TOOL_NOT_DEFINED');
}

function nameClash(name: string, other: string, shared: string): ToolscriptUsageError {
  if (name === other) return new ToolscriptUsageError('TOOL_NAME_TAKEN', { name });
  return new ToolscriptUsageError('TOOL_NAMES_COLLIDE', { other, name, shared });
}

function refuseNamespaceClash(byName: ReadonlyMap<string, Tool>, tool: Tool): void {
  const parts = identifierName(tool.name).split('.');
  for (let length = 1; length < parts.length; length++) {
    const namespace = parts.slice(0, length).join('.');
    const other = byName.get(namespace);
    if (other !== undefined) {
      throw new ToolscriptUsageError('TOOL_NAME_IS_NAMESPACE', { namespace, tool: other.name, other: tool.name });
    }
  }
}

/** A named set of tools. */
export interface ToolPack {
  /** The packs whose tools this pack includes. */
  extends?: string | readonly string[] | undefined;
  tools?: readonly string[] | undefined;
}

export type ToolPacks = Readonly<Record<string, ToolPack>>;

/** The tools that a script may use; see `resolveExposure`. */
export interface Exposure {
  /** Tools, and namespaces, which stand for all tools in them: `mcp.github`. */
  tools?: readonly string[] | undefined;
  pack?: string | undefined;
  /** Default false: tools under `mcp.` are hidden. */
  mcp?: boolean | undefined;
  /** Default false: `tools.spawn` does not exist. */
  spawn?: boolean | undefined;
  /** Default false: the tool `http` is hidden. */
  http?: boolean | undefined;
}

/** The packs that always exist. Tools that these packs name and the harness lacks are omitted without an error. */
const BUILT_IN_PACKS: Readonly<Record<string, readonly string[]>> = {
  'core-codex': ['exec', 'applyPatch', 'readFile', 'listDir', 'grepFiles', 'fileSearch'],
  'anthropic-standard': ['exec', 'readFile', 'updatePlan', 'listDir'],
  'file-ops': ['readFile', 'listDir', 'grepFiles', 'applyPatch', 'fileSearch'],
  research: ['webSearch', 'fetchUrl'],
};

/** The name of the pack that contains all tools of the harness. */
const ALL = 'all';

const BUILT_IN_PACK_NAMES: readonly string[] = [...Object.keys(BUILT_IN_PACKS), ALL];

/**
 * Returns the own names of the exposed tools: the tools of the pack and the listed tools together, or all tools of the
 * registry if neither is set. `mcp.…` and `http` are included only if they are enabled. Throws a `ToolscriptUsageError`
 * for an unknown tool, pack or option, and for packs that extend each other in a cycle; every pack is checked. Tools
 * under `mcp.` appear and disappear with their servers, so a missing tool under `mcp.` is omitted. `absent: 'skip'`
 * omits every missing tool.
 */
export function resolveExposure(
  exposure: Exposure,
  registry: ToolRegistry,
  packs: ToolPacks = {},
  { absent = 'refuse' }: { absent?: 'refuse' | 'skip' | undefined } = {},
): ReadonlySet<string> {
  assertExposure(exposure);
  const find: FindTools = (name, where) => {
    const found = toolsNamed(name, registry);
    if (found.length === 0 && absent === 'refuse' && !isOfMcp(name)) throw unknownTool(name, registry, where);
    return found;
  };
  const resolver = new PackResolver(packs, registry, find);
  for (const name of Object.keys(packs)) resolver.packTools(name);
  const chosen = new Set<string>();
  if (exposure.pack === undefined && exposure.tools === undefined)
    for (const name of registry.names()) chosen.add(name);
  if (exposure.pack !== undefined) for (const name of resolver.packTools(exposure.pack)) chosen.add(name);
  for (const name of exposure.tools ?? []) for (const tool of find(name, 'expose.tools')) chosen.add(tool);
  for (const name of chosen) if (isSwitchedOff(name, exposure)) chosen.delete(name);
  return chosen;
}

/** Whether scripts may use a tool of this name, or of this namespace, if the tool existed. */
export function mayBeExposed(name: string, { tools, pack, ...switches }: Exposure = {}): boolean {
  if (isSwitchedOff(name, switches)) return false;
  const isPart = (part: string, whole: string) => part === whole || part.startsWith(`${whole}.`);
  return tools === undefined || pack !== undefined || tools.some((one) => isPart(name, one) || isPart(one, name));
}

function isSwitchedOff(name: string, exposure: Exposure): boolean {
  if (isOfMcp(name)) return exposure.mcp !== true;
  return name === 'http' && exposure.http !== true;
}

function isOfMcp(name: string): boolean {
  return name === 'mcp' || name.startsWith('mcp.');
}

/** Returns the tools that a name in a list denotes: the tool itself, or all tools of a namespace. */
type FindTools = (name: string, where: string) => readonly string[];

class PackResolver {
  readonly #packs: ToolPacks;
  readonly #registry: ToolRegistry;
  readonly #find: FindTools;
  readonly #resolvedPacks = new Map<string, ReadonlySet<string>>();

  constructor(packs: ToolPacks, registry: ToolRegistry, find: FindTools) {
    this.#packs = packs;
    this.#registry = registry;
    this.#find = find;
    for (const [name, pack] of Object.entries(packs)) assertPack(name, pack);
  }

  packTools(name: string, path: readonly string[] = []): ReadonlySet<string> {
    const known = this.#resolvedPacks.get(name);
    if (known !== undefined) return known;
    if (path.includes(name)) {
      throw new ToolscriptUsageError('PACK_CYCLE', { packs: [...path, name].join(' → ') });
    }
    const tools = this.#builtIn(name) ?? this.#own(name, path);
    this.#resolvedPacks.set(name, tools);
    return tools;
  }

  #builtIn(name: string): ReadonlySet<string> | undefined {
    if (name === ALL) return new Set(this.#registry.names());
    if (!Object.hasOwn(BUILT_IN_PACKS, name)) return undefined;
    return new Set(
      (BUILT_IN_PACKS[name] as readonly string[]).filter((tool) => this.#registry.get(tool) !== undefined),
    );
  }

  #own(name: string, path: readonly string[]): ReadonlySet<string> {
    if (!Object.hasOwn(this.#packs, name)) throw this.#unknownPack(name, path);
    const pack = this.#packs[name] as ToolPack;
    const tools = new Set<string>();
    const parents = typeof pack.extends === 'string' ? [pack.extends] : (pack.extends ?? []);
    for (const parent of parents) for (const tool of this.packTools(parent, [...path, name])) tools.add(tool);
    for (const listed of pack.tools ?? []) for (const tool of this.#find(listed, `the pack "${name}"`)) tools.add(tool);
    return tools;
  }

  #unknownPack(name: string, path: readonly string[]): ToolscriptUsageError {
    const names = [...BUILT_IN_PACK_NAMES, ...Object.keys(this.#packs)];
    const user = path.length === 0 ? '' : `, which "${path.at(-1)}" extends`;
    const advice = didYouMean(name, names) || ` The packs are ${names.join(', ')}.`;
    return new ToolscriptUsageError('UNKNOWN_PACK', { name, user, advice });
  }
}

function toolsNamed(name: string, registry: ToolRegistry): readonly string[] {
  const tool = registry.get(name);
  if (tool !== undefined) return [tool.name];
  const prefix = `${identifierName(name)}.`;
  return registry.names().filter((candidate) => identifierName(candidate).startsWith(prefix));
}

function unknownTool(name: string, registry: ToolRegistry, where: string): ToolscriptUsageError {
  return new ToolscriptUsageError('UNKNOWN_TOOL', {
    kind: 'tool or namespace',
    name,
    where,
    advice: didYouMean(name, registry.names()) || ' Remove it.',
  });
}

function assertPack(name: string, pack: unknown): void {
  if (BUILT_IN_PACK_NAMES.includes(name)) {
    throw new ToolscriptUsageError('PACK_IS_BUILT_IN', { name });
  }
  const isRecord = typeof pack === 'object' && pack !== null && !Array.isArray(pack);
  if (!isRecord)
    throw new ToolscriptUsageError('PACK_INVALID', {
      member: `The pack "${name}"`,
      expected: 'an object: { extends?, tools? }',
    });
  assertKeys(pack, ['extends', 'tools'], `The pack "${name}"`);
  const { extends: parents, tools } = pack as ToolPack;
  if (tools !== undefined && !isNameList(tools))
    throw new ToolscriptUsageError('PACK_INVALID', {
      member: `"tools" of the pack "${name}"`,
      expected: 'a list of names',
    });
  if (parents !== undefined && typeof parents !== 'string' && !isNameList(parents)) {
    throw new ToolscriptUsageError('PACK_INVALID', {
      member: `"extends" of the pack "${name}"`,
      expected: 'a name or a list of names',
    });
  }
}

const EXPOSURE_KEYS = ['tools', 'pack', 'mcp', 'spawn', 'http'];

function assertExposure(exposure: Exposure): void {
  assertKeys(exposure, EXPOSURE_KEYS, '"expose"');
  if (exposure.tools !== undefined && !isNameList(exposure.tools)) {
    throw new ToolscriptUsageError('OPTION_INVALID', { option: '"expose.tools"', expected: 'a list of tool names' });
  }
  if (exposure.pack !== undefined && typeof exposure.pack !== 'string') {
    throw new ToolscriptUsageError('OPTION_INVALID', { option: '"expose.pack"', expected: 'the name of a pack' });
  }
}

function assertKeys(value: object, keys: readonly string[], where: string): void {
  for (const key of Object.keys(value)) {
    if (!keys.includes(key))
      throw new ToolscriptUsageError('UNKNOWN_MEMBER', {
        where,
        member: key,
        advice: didYouMean(key, keys) || ` It takes ${keys.join(', ')}.`,
      });
  }
}

function isNameList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}
