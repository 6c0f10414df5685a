import { hostname } from 'node:os';
import { createGate } from '../approvals/index.js';
import { Leases } from '../durability/leases.js';
import { ProcessSuspensions } from '../durability/process-suspensions.js';
import type { DurabilityServices } from '../durability/services.js';
import type { Keeping } from '../durability/store-journal.js';
import { SuspensionSeal, type SuspensionKey } from '../durability/suspension-envelope.js';
import type { KnownArgument, Limits, Tool } from '../protocol/index.js';
import { Audit } from '../run/audit.js';
import { DetachedTasks } from '../run/detached-tasks.js';
import { LazyChecker } from '../run/lazy-checker.js';
import { ContextWriter } from '../run/script-context.js';
import type { HarnessServices } from '../run/script-run.js';
import { QuickJsPool } from '../sandbox/index.js';
import { createCompiler } from '../script/index.js';
import {
  createCatalog,
  createObservedShapes,
  createRegistry,
  isObjectResult,
  judgeKnown,
  resolveExposure,
  signatureOf,
  type ToolRegistry,
} from '../tools/index.js';
import type { HarnessOptions } from './options.js';

/** What the services need from their harness. */
interface OfHarness {
  readonly limits: Limits;
  readonly declarations: () => string;
  readonly isClosing: () => boolean;
}

/** Makes the services that the runs of one harness share. Throws a `ToolscriptUsageError` for an invalid option. */
export function openServices(options: HarnessOptions, { limits, declarations, isClosing }: OfHarness): HarnessServices {
  const registry = createRegistry(options.tools);
  const exposed = resolveExposure(options.expose ?? {}, registry, options.packs as never);
  const tools = registry.tools.filter(({ name }) => exposed.has(name));
  const toolNames = Object.freeze([...registry.scriptNames(exposed)]);
  const observed = createObservedShapes();
  const makeGate: HarnessServices['makeGate'] = (approvals, { approvalTimeoutMs }, more) =>
    createGate(approvals, { approvalTimeoutMs, ...more });
  makeGate(options.approvals, limits);
  return {
    ...openDurability(options),
    compiler: options.compiler ?? createCompiler(),
    checker: openChecker(options, { registry, tools, toolNames, declarations }),
    registry,
    exposed,
    toolNames,
    contexts: new ContextWriter(toolNames),
    tasks: options.expose?.spawn === true ? new DetachedTasks() : undefined,
    observed,
    catalog: createCatalog(tools, observed),
    makeGate,
    images: async (name) => options.store?.images.get(name),
    isClosing,
    suspendAfterMs: options.suspendAfterMs,
    audit: openAudit(options),
  };
}

function openDurability({ workers, runtime = 'quickjs', ...options }: HarnessOptions): DurabilityServices {
  const { queueWaitMs: _queueWaitMs, ...pool } = workers ?? {};
  return {
    runtime: runtime === 'quickjs' ? new QuickJsPool(pool) : runtime,
    keeping: keepingOf(options),
    keepingImages: new Map(),
    inProcess: options.store === undefined ? new ProcessSuspensions() : undefined,
    seal: new SuspensionSeal(keysOf(options.suspensionKey)),
    onInternalError: options.onInternalError,
  };
}

function openAudit({ audit, onInternalError }: HarnessOptions): Audit | undefined {
  if (audit === undefined) return undefined;
  return new Audit(audit, (detail) => onInternalError?.(detail, { scriptId: '' }));
}

interface CheckedTools {
  readonly registry: ToolRegistry;
  /** The exposed ones. */
  readonly tools: readonly Tool[];
  readonly toolNames: readonly string[];
  readonly declarations: () => string;
}

/** Undefined: types are not checked. The checker starts with the first script. */
function openChecker(
  { typecheck: mode = 'error' }: HarnessOptions,
  { registry, tools, toolNames, declarations }: CheckedTools,
): LazyChecker | undefined {
  if (mode === 'off') return undefined;
  const exposedTool = (name: string) => {
    const tool = registry.get(name);
    return tool !== undefined && tools.includes(tool) ? tool : undefined;
  };
  return new LazyChecker(() => ({
    tools,
    mode,
    declarations: declarations(),
    toolNames,
    signatureOf: (name: string) => {
      const tool = registry.get(name);
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
  if (typeof key === 'function') return () => [key()];
  return isList(key) ? key : [key];
}

function isList(key: SuspensionKey | readonly SuspensionKey[]): key is readonly SuspensionKey[] {
  return Array.isArray(key);
}
