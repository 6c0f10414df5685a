import { dirname, join } from 'node:path';
import { fileStore, memoryStore, type HarnessOptions } from '@toolscript/core';
import { obtainKeyFile, suspensionSeal } from '@toolscript/core/internal';
import type { AgentConfig, AgentInput, SubAgentOptions } from '@toolscript/core/agent';
import {
  ToolscriptUsageError,
  type EventLog,
  type HarnessStore,
  type ModelProvider,
  type ServiceStores,
} from '@toolscript/core/protocol';
import { AuditFile, memoryAudit, type AuditStore } from '../access/index.js';
import { demoAgent, fixedAgents, HarnessAgents, type AgentDirectory, type ServedAgent } from '@toolscript/service';
import { openDatabase, openEventLog } from '@toolscript/service/stores';

/** The stores and agents of a server. */
export interface ServerPartsOptions {
  /**
   * The database: `libsql:FILE`, `postgres://…` or `memory:`; or open stores. With `libsql:FILE`, the scripts and their
   * key are next to the file. With PostgreSQL, the scripts are in the database, and agents need
   * `harness.suspensionKey`, the same in all processes. Open stores need `events` and `scripts`, and the caller must
   * close them.
   */
  readonly stores: string | ServiceStores;
  /**
   * The live events of runs: `redis://…`, `rediss://…` for TLS, a URL in a form that `stores` accepts, or an open log.
   * Default: in the database of the stores.
   */
  readonly events?: string | EventLog | undefined;
  /**
   * Scripts that are suspended or were interrupted. Default: in PostgreSQL, next to the file of libSQL, or in memory,
   * depending on `stores`.
   */
  readonly scripts?: HarnessStore | undefined;
  /**
   * The audit log. Your own agents write to the store with `audit: store.append`. Default: next to the database file,
   * otherwise in memory.
   */
  readonly audit?: AuditStore | undefined;
  /** The first agent is the default. */
  readonly agents?: readonly AgentInput[] | AgentDirectory | undefined;
  /**
   * Adds the agent `demo`, a scripted model that needs no key, as the last of `agents`, unless one of them has this slug.
   * Default: false.
   */
  readonly demo?: boolean | undefined;
  /** The tools of `agents`, and all other options of `createHarness`. */
  readonly harness?: Omit<HarnessOptions, 'store'> | undefined;
  /** Lets `agents` with sub-agents find prompts, files and models: `storedTexts(…)` of `@toolscript/tools`. */
  readonly subAgents?: SubAgentOptions | undefined;
  /** Creates the models of `agents`. See `HarnessAgentsOptions`. */
  readonly provider?:
    | ((agent: AgentConfig, model: string | undefined) => ModelProvider | Promise<ModelProvider>)
    | undefined;
}

export interface ServerParts {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  readonly scripts: HarnessStore;
  readonly agents: AgentDirectory;
  readonly audit: AuditStore;
  /** Closes the stores and the agents that `openParts` opened. */
  close(): Promise<void>;
}

interface Storage {
  /** The folder of the database file. */
  readonly folder: string | undefined;
  /** Whether processes on several machines can share the database. */
  readonly isShared: boolean;
}

/**
 * Opens the stores that the options name; `secrets` are never written to the audit log. Rejects with a
 * `ToolscriptUsageError` or a `StoreUnavailableError`.
 */
export async function openParts(options: ServerPartsOptions, secrets: readonly string[]): Promise<ServerParts> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closer of closers.toReversed()) await closer();
  };
  try {
    const { stores, log, scripts, folder, isShared } = await openStorage(options, closers);
    const audit = options.audit ?? openAudit(secrets, folder, closers);
    const agents = openAgents(options, { scripts, folder, audit, isShared }, closers);
    return { stores, log, scripts, agents, audit, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openStorage({ stores, events, scripts, harness }: ServerPartsOptions, closers: (() => Promise<void>)[]) {
  const log = typeof events === 'string' ? await openEventLog(events) : events;
  if (log !== undefined && log !== events) closers.push(() => log.close());
  if (typeof stores !== 'string') {
    if (log === undefined || scripts === undefined) throw new ToolscriptUsageError('SERVER_STORES_INCOMPLETE');
    return { stores, log, scripts, folder: undefined, isShared: false };
  }
  const folder = stores.startsWith('libsql:') ? dirname(stores.slice('libsql:'.length)) : undefined;
  const { suspensionKey } = sharedSuspensionKey(harness, folder);
  const opened = await openDatabase(stores, {
    seal: suspensionKey === undefined ? undefined : suspensionSeal(suspensionKey),
  });
  closers.push(() => opened.close());
  const kept = scripts ?? opened.scripts ?? (folder === undefined ? memoryStore() : fileStore(join(folder, 'scripts')));
  return {
    stores: opened.stores,
    log: log ?? opened.log,
    scripts: kept,
    folder,
    isShared: opened.scripts !== undefined,
  };
}

function openAudit(
  secrets: readonly string[],
  folder: string | undefined,
  closers: (() => Promise<void>)[],
): AuditStore {
  if (folder === undefined) return memoryAudit();
  const audit = new AuditFile(join(folder, 'audit.jsonl'), { secrets });
  closers.push(async () => audit.close());
  return audit;
}

function openAgents(
  options: ServerPartsOptions,
  { scripts, folder, audit, isShared }: Pick<ServerParts, 'scripts' | 'audit'> & Storage,
  closers: (() => Promise<void>)[],
): AgentDirectory {
  const durable = { store: scripts, audit: audit.append, ...sharedSuspensionKey(options.harness, folder) };
  const own = ownAgents(options, durable, isShared, closers);
  if (options.demo !== true) return own;
  const demo = demoAgent(durable);
  closers.push(() => demo.close());
  return withDemo(own, demo);
}

function ownAgents(
  { agents = [], harness, subAgents, provider }: ServerPartsOptions,
  durable: Pick<HarnessOptions, 'store' | 'audit' | 'suspensionKey'>,
  isShared: boolean,
  closers: (() => Promise<void>)[],
): AgentDirectory {
  if ('find' in agents && typeof agents.find === 'function' && 'list' in agents) return agents as AgentDirectory;
  const configured = agents as readonly AgentInput[];
  if (configured.length === 0) return fixedAgents([]);
  if (harness === undefined) throw new ToolscriptUsageError('SERVER_AGENTS_WITHOUT_TOOLS');
  if (isShared && harness.suspensionKey === undefined) throw new ToolscriptUsageError('SERVER_AGENTS_WITHOUT_KEY');
  const own = new HarnessAgents({
    agents: configured,
    harness: { ...durable, ...harness },
    subAgents,
    provider,
  });
  closers.push(() => own.close());
  return own;
}

function sharedSuspensionKey(
  harness: ServerPartsOptions['harness'],
  folder: string | undefined,
): Pick<HarnessOptions, 'suspensionKey'> {
  if (harness?.suspensionKey !== undefined) return { suspensionKey: harness.suspensionKey };
  return folder === undefined ? {} : { suspensionKey: () => obtainKeyFile(join(folder, 'suspension.key')) };
}

/** Adds the demo as the last agent, which is the default if there is no other. */
function withDemo(own: AgentDirectory, demo: ServedAgent): AgentDirectory {
  return {
    list: async () => {
      const agents = await own.list();
      return agents.some(({ config }) => config.slug === demo.config.slug) ? agents : [...agents, demo];
    },
    find: async (slug) =>
      (await own.find(slug)) ?? (slug === undefined || slug === demo.config.slug ? demo : undefined),
  };
}
