import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { AgentConfigSchema, defaultAgents, defineAgent, type AgentConfig } from '@toolscript/core/agent';
import { WORKSPACE_AGENTS, userFolder } from '../configuration/locations.js';
import { demandOutside } from '../configuration/workspace-folder.js';
import { readCodeFile } from '../configuration/read-code.js';
import { isThere, readJsonFile } from '../configuration/json-files.js';
import { checkConfiguration } from '../configuration/schema.js';
import { isTrusted } from '../configuration/trust.js';
import { didYouMean } from '../nearest-name.js';
import type { Environment } from '../terminal/screen.js';
import { shellWord } from '../terminal/own-command.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError, isUsageError, systemCode } from '../usage-error.js';

export interface FoundAgent {
  readonly config: AgentConfig;
  /** The source of the agent. A workspace may only narrow the user's configuration. */
  readonly from: 'defaults' | 'person' | 'workspace';
  /** The path of the agent's file; undefined for built-in agents. */
  readonly file?: string | undefined;
}

const CODE = ['.ts', '.mts', '.js', '.mjs'];

/** Members that a workspace's agent cannot set, because they decide the cost, the tools and the sub-agents of a run. */
const USER_ONLY = ['agents', 'costBudget', 'fallbacks', 'pack', 'prices'] as const;
// defence: insecure-http-is-the-users-to-allow
const USER_ONLY_OF_PROVIDER = [
  'baseUrl',
  'apiKeyEnv',
  'allowInsecureHttp',
  'apiKeyCommand',
  'headers',
  'query',
  'extraBody',
  'serviceTier',
] as const;

const MAX_TURNS_OF_WORKSPACE = defineAgent({ slug: 'any' }).maxTurns;

/**
 * The agents by slug: the built-in ones, the user's own, and those of a trusted workspace. Loads an agent in code only
 * if `named` is the file's name without the extension, which must also be the agent's slug. Throws a UsageError for an
 * invalid file with the name `named`, and for a folder that cannot be read; reports and skips other invalid files.
 */
export async function findAgents(
  environment: Environment,
  workspace: string,
  warn: (message: string) => void,
  named?: string,
): Promise<ReadonlyMap<string, FoundAgent>> {
  const user = userFolder(environment);
  const agents = new Map<string, FoundAgent>();
  const take = async (file: string, from: 'person' | 'workspace', read: (file: string) => Promise<AgentConfig>) => {
    try {
      // defence: own-agents-outside-workspace
      if (from === 'person') demandOutside(file, workspace);
      add(agents, await read(file), from, file);
    } catch (error) {
      if (!isUsageError(error) || fileStem(file) === named) throw error;
      warn(error.message);
    }
  };
  for (const config of defaultAgents()) agents.set(config.slug, { config, from: 'defaults' });
  const folder = join(workspace, WORKSPACE_AGENTS);
  if (await isThere(folder)) {
    // defence: workspace-agents-need-trust
    const counts = await isTrusted(user, workspace);
    if (counts) {
      for (const file of await filesWithEnding(folder, ['.json'])) await take(file, 'workspace', workspaceAgent);
    } else {
      warn(
        `${visibleLine(folder)} is ignored, because you have not trusted the workspace. To trust it: toolscript trust ${shellWord(workspace)}`,
      );
    }
  }
  for (const file of await filesWithEnding(user.agentsFolder, ['.json'])) {
    await take(file, 'person', async (path) => agentIn(path, await readJsonFile(path)));
  }
  for (const file of await filesWithEnding(user.agentsFolder, CODE))
    if (fileStem(file) === named) await take(file, 'person', codeAgent);
  return agents;
}

function fileStem(file: string): string {
  return basename(file, extname(file));
}

function add(agents: Map<string, FoundAgent>, config: AgentConfig, from: FoundAgent['from'], file: string): void {
  const before = agents.get(config.slug);
  if (before?.from === from)
    throw new UsageError(
      `${visibleLine(file)} and ${visibleLine(before.file ?? '')} have the same slug "${config.slug}". Change one of the slugs.`,
    );
  // defence: workspace-agent-takes-no-name
  if (from === 'workspace' && before !== undefined)
    throw new UsageError(
      `${visibleLine(file)}: a workspace's agent cannot have the slug "${config.slug}" of a built-in agent. Write another slug.`,
    );
  agents.set(config.slug, { config, from, file });
}

/** The agent with this slug. Throws a UsageError with the nearest slug if no agent has this slug. */
export function requireAgent(agents: ReadonlyMap<string, FoundAgent>, slug: string): FoundAgent {
  const found = agents.get(slug);
  if (found !== undefined) return found;
  const names = [...agents.keys()];
  throw new UsageError(
    `There is no agent ${visibleLine(slug)}.${didYouMean(slug, names) || ` The agents are: ${names.map(visibleLine).join(', ')}.`}`,
  );
}

async function filesWithEnding(folder: string, endings: readonly string[]): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const paths = entries
      .filter(({ name }) => endings.includes(extname(name)) && !name.endsWith('.d.ts'))
      .map(({ name }) => join(folder, name))
      .toSorted();
    const isFile = await Promise.all(paths.map(isRegularFile));
    return paths.filter((_path, index) => isFile[index]);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new UsageError(
      `${visibleLine(folder)} cannot be read (${code ?? 'unknown error'}). Give your user read permission for this folder.`,
    );
  }
}

/** Follows symbolic links. False for a dangling link, and for anything that is not a regular file. */
function isRegularFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function codeAgent(file: string): Promise<AgentConfig> {
  const agent = agentIn(file, await readCodeFile(file));
  if (agent.slug === fileStem(file)) return agent;
  throw new UsageError(
    `${visibleLine(file)}: the slug "${agent.slug}" differs from the name of the file. Change the slug, or rename the file.`,
  );
}

async function workspaceAgent(file: string): Promise<AgentConfig> {
  const agent = agentIn(file, await readJsonFile(file));
  const own =
    USER_ONLY_OF_PROVIDER.find((name) => agent.provider?.[name] !== undefined) ??
    USER_ONLY.find((name) => agent[name] !== undefined);
  // defence: workspace-agent-names-no-key
  if (own !== undefined)
    throw new UsageError(
      `${visibleLine(file)}: a workspace's agent cannot set "${own}". Remove it, or define the agent in your own agents folder.`,
    );
  // defence: workspace-agent-turns
  if (agent.maxTurns > MAX_TURNS_OF_WORKSPACE)
    throw new UsageError(
      `${visibleLine(file)}: "maxTurns" of a workspace's agent may be at most ${MAX_TURNS_OF_WORKSPACE}. Lower the value.`,
    );
  return agent;
}

function agentIn(file: string, value: unknown): AgentConfig {
  const name = visibleLine(file);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${name} contains no agent. Write an object with a "slug".`);
  const checked = checkConfiguration(AgentConfigSchema, value, name);
  try {
    return defineAgent(checked);
  } catch (error) {
    throw new UsageError(`${name}: ${visibleLine((error as Error).message)}`);
  }
}
