import { hostname } from 'node:os';
import { createGate } from '../approvals/index.js';
import { Leases } from '../durability/leases.js';
import { ProcessSuspensions } from '../durability/process-suspensions.js';
import type { DurabilityServices } from '../durability/services.js';
import type { Keeping } from '../durability/store-journal.js';
import { SuspensionSeal, type SuspensionKey, type SuspensionKeys } from '../durability/suspension-envelope.js';
import type { KnownArgument, Limits, SandboxRuntime, Tool } from '../protocol/index.js';
import { Audit } from '../run/audit.js';
import { DetachedTasks } from '../run/detached-tasks.js';
import { LazyCheckPool, LazyChecker } from '../run/lazy-checker.js';
import { ContextWriter } from '../run/script-context.js';
import type { HarnessServices, ToolServices } from '../run/script-run.js';
import { IsolatedVmPool, QuickJsPool, type QuickJsOptions } from '../sandbox/index.js';
import { createCompiler } from '../script/index.js';
import {
  createCatalog,
  createObservedShapes,
  createRegistry,
  declarationsFor,
  GUEST_DECLARATIONS,
  isObjectResult,
  judgeKnown,
  resolveExposure,
  signatureOf,
} from '../tools/index.js';
import { operatorNotices, uncheckedNotice } from './operator-notices.js';
import type { HarnessOptions } from './options.js';

/** The parts of a harness that the services need. */
interface OfHarness {
  readonly limits: Limits;
  readonly closed: AbortSignal;
}

/** Creates the services that the runs of one harness share. Throws a `ToolscriptUsageError` for an invalid option. */
export function openServices(options: HarnessOptions, { limits, closed }: OfHarness): HarnessServices {
  const notice = operatorNotices(options);
  const shared = {
    checkPool: options.typecheck === 'off' ? undefined : new LazyCheckPool(uncheckedNotice(notice)),
    observed: createObservedShapes(),
  };
  const tools = openTools(options, shared, options.tools);
  const makeGate: HarnessServices['makeGate'] = (approvals, { approvalTimeoutMs }, more) =>
    createGate(approvals, { approvalTimeoutMs, ...more });
  makeGate(options.approvals, limits);
  return {
    ...shared,
    ...tools,
    ...openDurability(options),
    compiler: options.compiler ?? createCompiler({ onInternalError: notice }),
    tasks: options.expose?.spawn === true ? new DetachedTasks() : undefined,
    makeGate,
    images: async (name) => options.store?.images.get(name),
    closed,
    suspendAfterMs: options.suspendAfterMs,
    audit: openAudit(options),
  };
}

/**
 * The services of a harness with its new tools. Throws a `ToolscriptUsageError` if the tools are incompatible. Runs
 * that have started keep their services.
 */
export function withTools(options: HarnessOptions, services: HarnessServices, tools: readonly Tool[]): HarnessServices {
  return { ...services, ...openTools(options, services, tools, 'skip') };
}

/** `absent`: how to treat a name in `expose` that no tool has. */
function openTools(
  options: HarnessOptions,
  shared: Pick<HarnessServices, 'checkPool' | 'observed'>,
  given: readonly Tool[],
  absent: 'refuse' | 'skip' = 'refuse',
): ToolServices {
  const registry = createRegistry(given);
  const exposed = resolveExposure(options.expose ?? {}, registry, options.packs as never, { absent });
  const tools = Object.freeze(registry.tools.filter(({ name }) => exposed.has(name)));
  const toolNames = Object.freeze([...registry.scriptNames(exposed)]);
  return {
    registry,
    exposed,
    tools,
    toolNames,
    checker: openChecker(options, shared.checkPool, { registry, tools, toolNames }),
    contexts: new ContextWriter(toolNames),
    catalog: createCatalog(tools, shared.observed),
  };
}

/** The declarations of all globals of a script other than the language's own. */
export function scriptDeclarations(tools: readonly Tool[], { expose }: HarnessOptions): string {
  const options = { detail: 'full', optionalMembers: true, spawn: expose?.spawn === true, everything: true } as const;
  return `${GUEST_DECLARATIONS}\n${declarationsFor(tools, options)}`;
}

function openDurability({ workers, runtime = 'quickjs', ...options }: HarnessOptions): DurabilityServices {
  const { queueWaitMs: _queueWaitMs, ...pool } = workers ?? {};
  return {
    runtime: typeof runtime === 'string' ? openRuntime(runtime, pool) : runtime,
    keeping: keepingOf(options),
    keepingImages: new Map(),
    inProcess: options.store === undefined ? new ProcessSuspensions() : undefined,
    seal: new SuspensionSeal(keysOf(options.suspensionKey)),
    onInternalError: options.onInternalError,
  };
}

function openRuntime(name: 'quickjs' | 'isolated-vm', pool: QuickJsOptions): SandboxRuntime {
  return name === 'quickjs' ? new QuickJsPool(pool) : new IsolatedVmPool();
}

function openAudit({ audit, onInternalError }: HarnessOptions): Audit | undefined {
  if (audit === undefined) return undefined;
  return new Audit(audit, (detail) => onInternalError?.(detail, { scriptId: '' }));
}

/** Undefined: types are not checked. */
function openChecker(
  options: HarnessOptions,
  pool: LazyCheckPool | undefined,
  { registry, tools, toolNames }: Pick<ToolServices, 'registry' | 'tools' | 'toolNames'>,
): LazyChecker | undefined {
  const { typecheck: mode = 'error' } = options;
  if (mode === 'off' || pool === undefined) return undefined;
  const exposedTool = (name: string) => {
    const tool = registry.get(name);
    return tool !== undefined && tools.includes(tool) ? tool : undefined;
  };
  return new LazyChecker(pool, () => ({
    tools,
    mode,
    declarations: scriptDeclarations(tools, options),
    toolNames,
    signatureOf: (name: string) => {
      const tool = exposedTool(name);
      return tool === undefined ? undefined : signatureOf(tool);
    },
    judgeArgument: (name: string, known: KnownArgument) => {
      const tool = exposedTool(name);
      return tool === undefined ? undefined : judgeKnown(tool, known);
    },
    isObject: (name: string, path: readonly (string | number)[]) => {
      const tool = exposedTool(name);
      return tool !== undefined && isObjectResult(tool, path);
    },
  }));
}

const DEFAULT_LEASE_MS = 30_000;

function keepingOf({ store, leaseMs = DEFAULT_LEASE_MS, durability = 'process' }: HarnessOptions): Keeping | undefined {
  if (store === undefined) return undefined;
  return { leases: new Leases(store, { owner: `${hostname()} ${process.pid}`, leaseMs }), durability };
}

function keysOf(key: HarnessOptions['suspensionKey']): readonly SuspensionKey[] | (() => readonly SuspensionKey[]) {
  if (key === undefined) return [];
  return typeof key === 'function' ? () => listOf(key()) : listOf(key);
}

function listOf(keys: SuspensionKeys): readonly SuspensionKey[] {
  return isList(keys) ? keys : [keys];
}

function isList(keys: SuspensionKeys): keys is readonly SuspensionKey[] {
  return Array.isArray(keys);
}
