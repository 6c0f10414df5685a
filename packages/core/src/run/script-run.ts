import { createGate } from '../calls/approvals/index.js';
import type { Decision, FlowPolicy, GateMemory, Limits, SandboxRuntime, Tool } from '../protocol/index.js';
import type { Compiler } from '../script/index.js';
import {
  runScriptSession,
  type SessionEnd,
  type SessionFacadeHooks,
  type SessionScript,
  type SessionServices,
} from '../calls/session/index.js';
import { createFacade, type FacadeServices } from '../calls/facade/index.js';
import { CallSources, type FlowScript } from '../calls/flow/call-sources.js';
import type { FollowedScript } from '../calls/flow/followed-script.js';
import { LabelledCopy } from '../calls/flow/labelled-copy.js';
import { withoutCell } from '../script/compile/wrapper.js';
import { labelledScript } from '../script/label-rewrite/labelled-script.js';
import type { RunContext } from '../protocol/run-context.js';
import { reportInternalError, type DurabilityServices } from './durability/services.js';
import type { Audit } from './audit.js';
import type { DetachedTasks } from './detached-tasks.js';
import type { RunningScripts } from './running-scripts.js';
import type { LazyCheckPool, LazyChecker } from './lazy-checker.js';
import type { NamedTools } from './named-tools.js';
import type { WhyMissing } from '../tools/index.js';
import type { Programs } from './programs/programs.js';
import { checkSavedScript } from './saved-scripts.js';

/**
 * The tools of a harness at one moment, and the data derived from them. The object is immutable: a change of the tools
 * creates a new object.
 */
export interface ToolServices
  extends Pick<FacadeServices, 'registry' | 'exposed' | 'whyMissing'>, Pick<SessionServices, 'catalog'> {
  /** The exposed tools. */
  readonly tools: readonly Tool[];
  readonly toolNames: readonly string[];
  readonly namedTools: NamedTools;
  /** Whether an exposed tool guards arguments. */
  readonly guardsArguments: boolean;
  /** Undefined: types are not checked. */
  readonly checker: LazyChecker | undefined;
  readonly contexts: ContextWriter;
}

/**
 * The services that the runs of one harness share. A run keeps the object that it starts with, and thereby the tools
 * that its script was checked against.
 */
export interface HarnessServices extends DurabilityServices, ToolServices, SessionServices, FacadeServices {
  compiler: Compiler;
  /** Undefined: types are not checked. */
  checkPool: LazyCheckPool | undefined;
  /** Undefined: `tools.spawn` does not exist. */
  tasks: DetachedTasks | undefined;
  audit: Audit | undefined;
  /** The host's policy about the sources of arguments. */
  flow: FlowPolicy | undefined;
  /** The runtime of copies, which is opened at the first use. */
  copies: { readonly runtime: SandboxRuntime; close(): Promise<void> };
  programs: Programs;
  /** Whether each script can use the variables of earlier ones. */
  isOneProgram: boolean;
  /** The functions that say why a tool may be missing. */
  readonly explanations: Set<WhyMissing>;
  /** The scripts that callers may wait for by their ids. */
  running: RunningScripts;
  /** Aborts when the harness is closed. */
  closed: AbortSignal;
}

/** A script's own data for its session and its gate, besides the context that it shares with its run. */
export interface ScriptRun extends SessionScript {
  /** The decisions that users made while the script was suspended, by approval id. */
  readonly decisions?: ReadonlyMap<string, Decision> | undefined;
  /** The decisions of users that apply to several calls. */
  readonly memory?: GateMemory | undefined;
}

/** Runs a compiled script until it ends or waits only for decisions. */
export function runSession(services: HarnessServices, context: RunContext, script: ScriptRun): Promise<SessionEnd> {
  return runScriptSession({
    services,
    context,
    script,
    makeFacade: (hooks) => makeFacade(services, context, script, hooks),
    onFault: (detail) => reportInternalError(services, script.scriptId, detail),
  });
}

/** Finds the sources of a script's arguments. Undefined: no tool guards arguments, and the host has no policy. */
export function callSources(
  { registry, flow, guardsArguments }: Pick<HarnessServices, 'registry' | 'flow' | 'guardsArguments'>,
  { origin }: RunContext,
  script: FlowScript | undefined,
  openCopy?: () => Promise<LabelledCopy | undefined>,
): CallSources | undefined {
  if (flow === undefined && !guardsArguments) return undefined;
  const settings = { origin, policy: flow, tool: (name: string) => registry.get(name) };
  // The script of a structured call has no source of its own, and no labels to find.
  return new CallSources(
    script?.source === '' ? { ...settings, script: undefined } : { ...settings, script, openCopy },
  );
}

/**
 * Starts a copy of the script. Undefined: the script has syntax that cannot be rewritten, or is a script of a program
 * that runs saved scripts. The copy of a script of a program has no variables of earlier scripts, so that it knows nothing
 * from where the script uses one.
 */
async function openCopy(
  { registry, tools, copies, compiler }: HarnessServices,
  { limits }: RunContext,
  { compiled, cell }: ScriptRun,
  followed: FollowedScript,
): Promise<LabelledCopy | undefined> {
  const { principal } = followed.job;
  const javascript = cell === undefined ? compiled.javascript : withoutCell(compiled.javascript);
  if (javascript === undefined) return undefined;
  const rewritten = await compiler.rewriteForLabels(javascript, {
    control: tools.some(({ flow }) => flow?.control === true),
    principal,
    queueWaitMs: limits.queueWaitMs,
  });
  if (rewritten === undefined) return undefined;
  const script = labelledScript(rewritten);
  return new LabelledCopy({ ...followed, script, runtime: copies.runtime, tool: (name) => registry.get(name) });
}

function makeFacade(
  services: HarnessServices,
  context: RunContext,
  script: ScriptRun,
  { followed, ...hooks }: SessionFacadeHooks,
) {
  const { scriptId, compiled, decisions, memory, journal, cell } = script;
  const gate = createGate(context, {
    decisions,
    memory,
    onDecided: journal.isStored ? (approvalId, decision) => journal.decided(approvalId, decision) : undefined,
  });
  return createFacade({
    ...hooks,
    services,
    context,
    gate,
    scriptId,
    plan: compiled.plan,
    // Later scripts of a program without a conversation find what their principal keeps.
    threadId: cell === undefined ? context.identity.threadId : cell.start.threadId,
    flow: callSources(services, context, compiled, () => openCopy(services, context, script, followed)),
    savedScripts: { linked: compiled.linked, check: (saved) => checkSavedScript(services, saved, context) },
    audit: services.audit?.scriptLog(context, scriptId),
  });
}

/** Writes the `context` that scripts read. The constant part is serialized once. */
export class ContextWriter {
  readonly #endings = new WeakMap<Limits, Map<string, string>>();

  /**
   * Returns the context as JSON text, without the names of the tools: the sandbox adds them. If a name occurs twice, the
   * last member counts, so the host cannot override facts.
   */
  write(scriptId: string, { identity, context, limits, mode, approvals, repeatsReadText }: RunContext): string {
    const members = JSON.stringify({
      conversationId: identity.threadId,
      sessionId: identity.runId,
      turnId: identity.turnId,
      workingDirectory: '',
      provider: '',
      model: '',
      ...context,
      scriptId,
    });
    return `${members.slice(0, -1)},${this.#ending(limits, mode, approvals !== 'auto' || repeatsReadText)}`;
  }

  #ending(limits: Limits, mode: RunContext['mode'], required: boolean): string {
    let endings = this.#endings.get(limits);
    if (endings === undefined) this.#endings.set(limits, (endings = new Map()));
    const key = `${mode} ${required}`;
    let ending = endings.get(key);
    if (ending === undefined) {
      const { timeoutMs, memoryMb, maxToolCalls: remainingToolBudget, maxConcurrentToolCalls } = limits;
      ending = JSON.stringify({
        sandbox: { timeoutMs, memoryMb, remainingToolBudget, maxConcurrentToolCalls, mode },
        approvals: { required },
        telemetry: {},
      }).slice(1);
      endings.set(key, ending);
    }
    return ending;
  }
}
