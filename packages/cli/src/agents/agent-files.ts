import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { AgentConfigSchema, defaultAgents, defineAgent, type AgentConfig } from '@toolscript/core/agent';
import { userFolder, WORKSPACE_AGENTS } from '../configuration/locations.js';
import { readCodeFile } from '../configuration/read-code.js';
import { isThere, readJsonFile } from '../configuration/read-json.js';
import { checkConfiguration } from '../configuration/schema.js';
import { isTrusted } from '../configuration/trust.js';
import { didYouMean } from '../nearest-name.js';
import type { Environment } from '../terminal/style.js';
import { shellWord } from '../terminal/shell-word.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

export interface FoundAgent {
  readonly config: AgentConfig;
  /** Who says so. A workspace may only narrow what the person has configured. */
  readonly from: 'defaults' | 'person' | 'workspace';
  /** Undefined for those that come along. */
  readonly file?: string;
}

const CODE = ['.ts', '.mts', '.js', '.mjs'];

/** What a workspace's agent cannot say: where a key is sent, and what costs are. */
const PERSONS_OWN = ['baseUrl', 'apiKeyEnv'] as const;

/**
 * Every agent there is, by its slug: those that come along, the person's own, those of a workspace that is trusted.
 * Later ones take the place of earlier ones; a workspace's cannot take the place of the person's. Throws a UsageError
 * for a file that is no agent.
 */
export async function findAgents(
  environment: Environment,
  workspace: string,
  warn: (message: string) => void,
): Promise<ReadonlyMap<string, FoundAgent>> {
  const user = userFolder(environment);
  const agents = new Map<string, FoundAgent>();
  for (const config of defaultAgents()) agents.set(config.slug, { config, from: 'defaults' });
  const folder = join(workspace, WORKSPACE_AGENTS);
  if (await isThere(folder)) {
    if (await isTrusted(user, workspace)) {
      for (const file of await filesOf(folder, ['.json'])) add(agents, await workspaceAgent(file), 'workspace', file);
    } else {
      warn(
        `${visibleLine(folder)} does not count, because you have not trusted this folder. To trust it: toolscript trust ${shellWord(workspace)}`,
      );
    }
  }
  for (const file of await filesOf(user.agentsFolder, ['.json', ...CODE]))
    add(agents, await ownAgent(file, workspace), 'person', file);
  return agents;
}

function add(agents: Map<string, FoundAgent>, config: AgentConfig, from: FoundAgent['from'], file: string): void {
  const before = agents.get(config.slug);
  if (before?.from === from)
    throw new UsageError(
      `${visibleLine(file)} and ${visibleLine(before.file ?? '')} have the same slug "${config.slug}". Change one.`,
    );
  agents.set(config.slug, { config, from, file });
}

/** The agent of that name. Throws a UsageError with the nearest one. */
export function agentNamed(agents: ReadonlyMap<string, FoundAgent>, slug: string): FoundAgent {
  const found = agents.get(slug);
  if (found !== undefined) return found;
  const names = [...agents.keys()];
  throw new UsageError(
    `There is no agent ${visibleLine(slug)}.${didYouMean(slug, names) || ` There are ${names.map(visibleLine).join(', ')}.`}`,
  );
}

async function filesOf(folder: string, endings: readonly string[]): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && endings.includes(extname(entry.name)) && !entry.name.endsWith('.d.ts'))
      .map(({ name }) => join(folder, name))
      .toSorted();
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new UsageError(`${visibleLine(folder)} cannot be read (${code ?? 'unknown error'}).`);
  }
}

async function ownAgent(file: string, workspace: string): Promise<AgentConfig> {
  const isCode = CODE.includes(extname(file));
  return agentIn(file, isCode ? await readCodeFile(file, workspace) : await readJsonFile(file));
}

async function workspaceAgent(file: string): Promise<AgentConfig> {
  const agent = agentIn(file, await readJsonFile(file));
  const own = PERSONS_OWN.find((name) => agent.provider?.[name] !== undefined);
  if (own !== undefined)
    throw new UsageError(
      `${visibleLine(file)}: "provider.${own}" cannot be set by a workspace, only in your own agents folder.`,
    );
  if (agent.pack !== undefined)
    throw new UsageError(`${visibleLine(file)}: "pack" cannot be set by a workspace. Name "tools" instead.`);
  return agent;
}

function agentIn(file: string, value: unknown): AgentConfig {
  const name = visibleLine(file);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${name} holds no agent: write an object with a slug.`);
  const checked = checkConfiguration(AgentConfigSchema, value, name);
  try {
    return defineAgent(checked);
  } catch (error) {
    throw new UsageError(`${name}: ${visibleLine((error as Error).message)}`);
  }
}
