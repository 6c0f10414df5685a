import { hostname } from 'node:os';
import { readPolicy } from '../calls/approvals/index.js';
import { Leases, type Keeping } from '../run/durability/store-journal.js';
import { ProcessSuspensions } from '../run/durability/process-suspensions.js';
import { Programs } from '../run/programs/programs.js';
import { MemoryHeaps } from '../stores/memory-heaps.js';
import { keepImages } from '../run/durability/suspensions.js';
import { reportInternalError, type DurabilityServices } from '../run/durability/services.js';
import { SealedStore } from '../run/durability/sealed-store.js';
import { SuspensionSeal, type SuspensionKey, type SuspensionKeys } from '../run/durability/suspension-envelope.js';
import {
  ToolCallError,
  ToolscriptUsageError,
  type KnownArgument,
  type SandboxRuntime,
  type Tool,
  type ApprovalCallback,
} from '../protocol/index.js';
import { Audit } from '../run/audit.js';
import { DetachedTasks } from '../run/detached-tasks.js';
import { RunningScripts } from '../run/running-scripts.js';
import { LazyCheckPool, LazyChecker } from '../run/lazy-checker.js';
import { NamedTools } from '../run/named-tools.js';
import { ContextWriter, type HarnessServices, type ToolServices } from '../run/script-run.js';
import { loadIsolatedVm, QUICKJS_BRIDGE, QuickJsPool, type QuickJsOptions } from '../sandbox/index.js';
import type { ScriptCapability } from '../protocol/script-capability.js';
import { createCompiler } from '../script/index.js';
import {
  createCatalog,
  createRegistry,
  declarationsFor,
  GUEST_DECLARATIONS,
  resolveExposure,
  toolSignature,
} from '../tools/index.js';
import { createObservedShapes, isObjectResult, judgeKnown } from '../schema/index.js';
import { didYouMean } from '../text/nearest-names.js';
import type { HarnessOptions } from './options.js';
import type { HarnessTools } from './harness-types.js';

/**
 * Creates the services that the runs of one harness share. `closed` aborts when the harness is closed. Throws a
 * `ToolscriptUsageError` for an invalid option.
 */
export function openServices(options: HarnessOptions, closed: AbortSignal): HarnessServices {
  const notice = operatorNotices(options);
  const shared = {
    checkPool: options.typecheck === 'off' ? undefined : new LazyCheckPool(uncheckedNotice(notice)),
    observed: createObservedShapes(),
  };
  const tools = openTools(options, shared, options.tools);
  readPolicy(options.approvals);
  const durability = openDurability(options);
  return {
    ...shared,
    ...tools,
    ...durability,
    ...openPrograms(options, durability),
    compiler: options.compiler ?? createCompiler({ onInternalError: notice }),
    tasks: options.expose?.spawn === true ? new DetachedTasks() : undefined,
    images: async (name) => options.store?.images.get(name),
    closed,
    suspendAfterMs: options.suspendAfterMs,
    audit: openAudit(options),
    flow: options.flow,
    copies: new LabelledCopies(),
    running: new RunningScripts(),
  };
}

/**
 * The services of a harness with its new tools. Throws a `ToolscriptUsageError` if the tools are incompatible. Runs
 * that have started keep their services.
 */
export function withTools(options: HarnessOptions, services: HarnessServices, tools: readonly Tool[]): HarnessServices {
  return { ...services, ...openTools(options, services, tools, 'skip') };
}

/** `absent`: the treatment of a name in `expose` that no tool has. */
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
    namedTools: new NamedTools(tools),
    guardsArguments: tools.some(({ flow }) => flow !== undefined),
    checker: openChecker(options, shared.checkPool, { registry, tools, toolNames }),
    contexts: new ContextWriter(),
    catalog: createCatalog(tools, shared.observed),
  };
}

/** Returns the declarations of all globals of a script other than the language's own. */
export function scriptDeclarations(tools: readonly Tool[], { expose }: HarnessOptions): string {
  const options = { detail: 'full', optionalMembers: true, spawn: expose?.spawn === true, everything: true } as const;
  return `${GUEST_DECLARATIONS}\n${declarationsFor(tools, options)}`;
}

function openDurability({ workers, runtime = 'quickjs', ...options }: HarnessOptions): DurabilityServices {
  const { queueWaitMs: _queueWaitMs, ...pool } = workers ?? {};
  const seal = suspensionSeal(options.suspensionKey);
  return {
    runtime: typeof runtime === 'string' ? openRuntime(runtime, pool) : runtime,
    keeping: storeKeeping(options, seal),
    keepingImages: new Map(),
    inProcess: options.store === undefined ? new ProcessSuspensions() : undefined,
    seal,
    onInternalError: options.onInternalError,
  };
}

/** Suspended scripts of programs can resume in every harness. */
function openPrograms({ scripts, store }: HarnessOptions, services: DurabilityServices) {
  const { runtime, keeping } = services;
  const isOneProgram = scripts === 'one-program';
  const refuse = (problem: string) => {
    throw new ToolscriptUsageError('OPTIONS_INVALID', { where: 'createHarness', problem: `scripts: ${problem}` });
  };
  if (isOneProgram && runtime.sharesMemory !== true)
    refuse(`the runtime ${runtime.name} cannot keep variables. Use the runtime 'quickjs', or 'separate'`);
  if (isOneProgram && store !== undefined && store.heaps === undefined)
    refuse('the store has no heaps. Use a store that has them, such as fileStore(folder), or none');
  const programs = new Programs({
    heaps: keeping?.leases.store.heaps ?? new MemoryHeaps(),
    runtime,
    onFault: (scriptId, detail) => reportInternalError(services, scriptId, detail),
    keepImages: (names) => keepImages(services, names),
  });
  return { programs, isOneProgram };
}

function openRuntime(name: 'quickjs' | 'isolated-vm', pool: QuickJsOptions): SandboxRuntime {
  return name === 'quickjs' ? new QuickJsPool(pool) : loadIsolatedVm();
}

/** Copies have a worker of their own: none waits for a script, which may wait for its copy. */
class LabelledCopies {
  #pool: QuickJsPool | undefined;

  get runtime(): SandboxRuntime {
    this.#pool ??= new QuickJsPool({ size: 1, maxWaiting: MAX_WAITING_COPIES });
    return this.#pool;
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }
}

const MAX_WAITING_COPIES = 256;

function openAudit({ audit, onInternalError }: HarnessOptions): Audit | undefined {
  if (audit === undefined) return undefined;
  return new Audit(audit, (detail) => onInternalError?.(detail, { scriptId: '' }));
}

/** Returns the type checker; undefined if types are not checked. */
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
    findSignature: (name: string, observed: string | undefined) => {
      const tool = exposedTool(name);
      return tool === undefined ? undefined : toolSignature(tool, observed);
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

/** Without a key, every program that can write to the store is trusted, so its journals are not authenticated. */
function storeKeeping(
  { store, suspensionKey, leaseMs = DEFAULT_LEASE_MS, durability = 'process' }: HarnessOptions,
  seal: SuspensionSeal,
): Keeping | undefined {
  if (store === undefined) return undefined;
  const trusted = suspensionKey === undefined ? store : new SealedStore(store, seal);
  return { leases: new Leases(trusted, { owner: `${hostname()} ${process.pid}`, leaseMs }), durability };
}

/** The capability of a harness with these options. */
export function optionsCapability({
  suspensionKey,
  runtime = 'quickjs',
}: Pick<HarnessOptions, 'suspensionKey' | 'runtime'>): ScriptCapability {
  const bridge = typeof runtime === 'object' ? runtime.bridge : runtime === 'quickjs' ? QUICKJS_BRIDGE : undefined;
  return scriptCapability(suspensionKey === undefined ? undefined : suspensionSeal(suspensionKey), bridge);
}

/**
 * `seal`: undefined for a harness without a `suspensionKey`. Only that harness opens its suspended scripts, so a run
 * that waited for its key would wait in vain after the end of its process.
 */
export function scriptCapability(seal: SuspensionSeal | undefined, bridge: SandboxRuntime['bridge']): ScriptCapability {
  const keys = (seal?.keyIds ?? []).map((id) => `key:${id}`);
  const versioned = (version: number) => `bridge:${version}`;
  const needs = [...keys.slice(0, 1), ...(bridge === undefined ? [] : [versioned(bridge.version)])];
  return { needs, opens: [...new Set([...needs, ...keys, ...(bridge?.known ?? []).map(versioned)])] };
}

/** The seal of a harness with this `suspensionKey`. Without a key, only this seal itself opens what it sealed. */
export function suspensionSeal(key: HarnessOptions['suspensionKey']): SuspensionSeal {
  return new SuspensionSeal(suspensionKeys(key));
}

function suspensionKeys(
  key: HarnessOptions['suspensionKey'],
): readonly SuspensionKey[] | (() => readonly SuspensionKey[]) {
  if (key === undefined) return [];
  return typeof key === 'function' ? () => keyList(key()) : keyList(key);
}

function keyList(keys: SuspensionKeys): readonly SuspensionKey[] {
  return isList(keys) ? keys : [keys];
}

function isList(keys: SuspensionKeys): keys is readonly SuspensionKey[] {
  return Array.isArray(keys);
}

/** Receives the details of a problem of the installation that concerns every script of a harness. */
export type OperatorNotice = (detail: string) => void;

/**
 * Returns a function that reports each text once: to the host's `onInternalError`, or else as a warning of the process.
 * An operator must learn of a problem of the installation even if the host sets no `onInternalError`.
 */
export function operatorNotices({ onInternalError }: Pick<HarnessOptions, 'onInternalError'>): OperatorNotice {
  const reported = new Set<string>();
  return (detail) => {
    if (reported.has(detail) || reported.size >= MAX_NOTICES) return;
    reported.add(detail);
    if (onInternalError === undefined) process.emitWarning(detail, { type: 'ToolscriptWarning' });
    else reportInternalError({ onInternalError }, '', detail);
  };
}

/** Maximum number of notices. Without a maximum, texts with varying details would be reported without end. */
const MAX_NOTICES = 10;

/** Returns a function that reports the first script that runs without a type check because there is no type checker. */
function uncheckedNotice(notice: OperatorNotice): (reason: string) => void {
  let isReported = false;
  return (reason) => {
    if (isReported) return;
    isReported = true;
    notice(
      `Scripts run WITHOUT type checks, because no type checker could be started: ${reason} Install typescript 7 with its optional packages where the program runs (docs/how-to/bundlers.md), or turn type checks off with \`typecheck: 'off'\`.`,
    );
  };
}

/**
 * Returns the approvals function for scripts whose suspension nobody would receive. The function denies calls that need
 * approval, and reports the options that avoid the denial.
 */
export function denyUnattendedCalls(notice: OperatorNotice): ApprovalCallback {
  return ({ tool }) => {
    notice(
      `Toolscript denied a call of the tool "${tool}": it needs approval, and no user can decide about it. Give createHarness or asTool the option \`approvals\` ('auto', 'deny', rules, or a function), give asTool \`onOutcome\` or createHarness a \`store\` and resume suspended scripts, or define the tool with \`effect: 'read'\` or \`approval: 'never'\`.`,
    );
    throw new ToolCallError('ApprovalDeniedError', 'no user can be asked here');
  };
}

/** The port through which the tools of a harness are read and replaced. */
export interface ToolHolder {
  /** All tools, exposed or not. */
  all(): readonly Tool[];
  /** The tools that scripts and structured calls may use. */
  exposed(): readonly Tool[];
  /** Replaces all tools. Throws if the tools are incompatible, and then changes nothing. */
  set(tools: readonly Tool[]): void;
}

export function liveTools(holder: ToolHolder): HarnessTools {
  const change = (method: string, names: readonly string[], tools: readonly Tool[]): void => {
    assertList(names, 'string', { method: `harness.tools.${method}`, expected: 'a list of names' });
    assertList(tools, 'object', { method: `harness.tools.${method}`, expected: 'a list of tools' });
    holder.set(replacedTools(holder.all(), names, tools, method));
  };
  return Object.freeze(
    Object.assign(() => holder.exposed(), {
      add: (tools: readonly Tool[]) => change('add', [], tools),
      remove: (names: readonly string[]) => change('remove', names, []),
      replace: (names: readonly string[], tools: readonly Tool[]) => change('replace', names, tools),
    }),
  );
}

function assertList(list: unknown, type: 'string' | 'object', values: { method: string; expected: string }): void {
  const isList = Array.isArray(list) && list.every((element) => typeof element === type);
  if (!isList) throw new ToolscriptUsageError('ARGUMENT_INVALID', values);
}

/**
 * Replaces tools in a list. A new tool with the name of a removed tool takes the position of that tool, so that the
 * text for models changes as little as possible.
 */
function replacedTools(
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
  return new ToolscriptUsageError('UNKNOWN_TOOL', {
    kind: 'tool',
    name,
    where: `harness.tools.${method}`,
    advice: didYouMean(name, known) || ' harness.catalog().list() lists the tools.',
  });
}
