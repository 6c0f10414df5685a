import { putItem, callScriptId, scriptOfCall, type AnswerWork } from '../answer/index.js';
import type { KeptScriptDetails } from '../harness/index.js';
import type { FunctionCallItem, Operation, Outcome, ScriptExecutionItem, ScriptFailure } from '../protocol/index.js';
import { present } from '../protocol/json.js';
import { toSnakeCase } from '../protocol/spelling.js';
import { newId, sha256 } from '../text/crypto.js';
import type { AgentConfig } from './agent-config.js';
import { interruptedRun, itemScript, type InterruptedRun } from './interrupted-run.js';
import { closingOutput, openCalls, pendingBlock, type UnfinishedCall } from './open-calls.js';
import type { RunLog } from './run-log.js';
import { resumeOptions, settledOutcome, type ScriptConditions } from './script-host.js';

export interface RecoverySettings extends ScriptConditions {
  readonly agent: Pick<AgentConfig, 'carrier'>;
  /** The ids of the scripts that the stored events of the run name. */
  readonly namedScripts: ReadonlySet<string>;
}

export interface RecoveryOptions {
  readonly force: boolean;
  /** True: a script without a journal has performed only reads. */
  readonly storeIsWhole: boolean;
}

/** Continues the scripts and calls of a run whose process ended, from the store of scripts. */
export class ScriptRecovery {
  readonly #settings: RecoverySettings;
  readonly #log: RunLog;

  constructor(settings: RecoverySettings) {
    this.#settings = settings;
    this.#log = settings.log;
  }

  /**
   * The scripts that the store links to this run and that no event names, because the events were lost. The run of a
   * sub-agent leaves them to the run that began the chain. They are read before this run makes scripts itself.
   */
  async lostScripts(mayHaveLost: boolean): Promise<readonly KeptScriptDetails[]> {
    const { harness, options, log, namedScripts: named } = this.#settings;
    const { runId, parentRunId } = log.identity;
    if (!mayHaveLost || parentRunId !== undefined) return [];
    const except = new Set([...named, ...log.items.flatMap((item) => itemScript(item) ?? [])]);
    // defence: lost-scripts-are-recovered
    return harness.scriptsOfRun(runId, { principal: options.principal, except });
  }

  /** Assigns lost scripts to the open calls of the run that contain their source. Returns the ids of these scripts. */
  adopt(lost: readonly KeptScriptDetails[], itemIds: ReadonlySet<string>): ReadonlySet<unknown> {
    const adopted = new Set<unknown>();
    for (const { scriptId, source, call } of lost) {
      if (call !== undefined) continue;
      const open = openCalls(this.#log.items).find((one) => itemIds.has(one.id) && unstartedScript(one) === source);
      if (open === undefined) continue;
      adopted.add(scriptId);
      const changes = { status: 'executing', script_id: scriptId };
      if (open.type === 'script_execution') this.#log.emit({ type: 'item_update', item_id: open.id, changes });
      else putItem(this.#log.emit, this.#lostItem({ scriptId, source }, open));
    }
    return adopted;
  }

  /** Emits the items of lost scripts, and recovers the scripts. */
  async recoverLost(work: AnswerWork, lost: readonly KeptScriptDetails[]): Promise<void> {
    for (const { scriptId, source, call } of lost) {
      if (work.waiting !== undefined) return;
      const item =
        call === undefined
          ? this.#lostItem({ scriptId, source })
          : ({
              type: 'function_call',
              id: newId('item'),
              call_id: call.callId,
              name: call.name,
              arguments: JSON.stringify(call.input),
            } as const);
      putItem(this.#log.emit, item);
      const startedCalls = new Map([[item.call_id, { effect: 'external' as const, scriptId }]]);
      const how = { force: true, storeIsWhole: false };
      await this.recoverCall(work, item, { ...interruptedRun([]), startedCalls }, how);
    }
  }

  async recoverCall(work: AnswerWork, call: UnfinishedCall, run: InterruptedRun, how: RecoveryOptions): Promise<void> {
    const started = run.startedCalls.get(call.call_id);
    if (call.type === 'script_execution' && call.status === 'pending') return work.script(pendingBlock(call));
    const saved = await this.#savedCall(run.requestedCalls.get(call.call_id), call);
    // A call that no script saves may run again if the call is a read or has not started.
    const mayRepeat = saved === undefined && (started === undefined || started.effect === 'read');
    if (call.type === 'function_call' && mayRepeat) return work.call(call);
    const scriptId = call.type === 'script_execution' ? call.script_id : (started?.scriptId ?? saved);
    const outcome = await this.#recoveredOutcome(scriptId, how.force);
    const isWhole = how.storeIsWhole || this.#settings.harness.hasFlushedStore;
    if (outcome === undefined && isWhole && (await this.#hasOnlyRead(call, run)))
      return work.script(pendingBlock(call as ScriptExecutionItem));
    if (outcome === undefined)
      return putItem(this.#log.emit, closingOutput(call, true, await this.#storedOperations(scriptId)));
    this.emitRequests(outcome);
    this.#settings.onOutcome?.(outcome);
    if (call.type === 'script_execution' || outcome.status === 'suspended') work.note({ outcome });
    else work.endCall(outcome.operations[0]!, call);
  }

  /**
   * Emits the requests for approval that the run's events do not contain: another run requested them, or the process
   * ended before it had stored the events. The requests of sub-agents are in the events of the sub-agents.
   */
  emitRequests(outcome: Outcome): void {
    if (outcome.status !== 'suspended' || this.#settings.interruption.isInterrupted) return;
    for (const request of outcome.pendingApprovals)
      if (!this.#log.hasRequested(request.approvalId))
        this.#log.emit({ type: 'approval_requested', approval: toSnakeCase(request) });
  }

  async recover(
    scriptId: string,
    how: { readonly force: boolean; readonly evenEnded?: boolean | undefined },
  ): Promise<Outcome> {
    const script = this.#log.items.find((item) => item.type === 'script_execution' && item.script_id === scriptId);
    const item = script === undefined ? {} : { item: { id: script.id, call_id: script.call_id as string } };
    const options = { ...resumeOptions(this.#settings), ...item, ...how };
    return settledOutcome(this.#settings, await this.#settings.harness.recover(scriptId, options));
  }

  async isCancelled(scriptId: string): Promise<boolean> {
    const { harness, options } = this.#settings;
    const details = await harness.inspect(scriptId, { principal: options.principal });
    return details?.ended?.code === 'ScriptCancelledError';
  }

  #lostItem({ scriptId, source }: { scriptId: string; source: string }, call?: FunctionCallItem): ScriptExecutionItem {
    const { carrier } = this.#settings.agent;
    return {
      type: 'script_execution',
      id: newId('item'),
      call_id: call?.call_id ?? newId('call'),
      language: 'ts',
      format: carrier === 'text' ? 'xml' : 'tool',
      ...(carrier === 'tool' || carrier === 'custom' ? { carrier } : {}),
      ...(call === undefined ? {} : present({ api: call.api, answer_id: call.answer_id })),
      source_code: source,
      source_sha256: sha256(source),
      status: 'executing',
      script_id: scriptId,
    };
  }

  /**
   * The script that saves a structured call; undefined if the store has none. `named`: the script that an event names.
   */
  async #savedCall(named: string | undefined, call: UnfinishedCall): Promise<string | undefined> {
    const { harness, options } = this.#settings;
    const scriptId = named ?? (call.type === 'function_call' ? callScriptId(call) : undefined);
    if (scriptId === undefined || !harness.hasStore) return undefined;
    return (await harness.inspect(scriptId, { principal: options.principal })) === undefined ? undefined : scriptId;
  }

  /**
   * The outcome of a recovered script; undefined if the store has no such script, or the harness cannot recover the
   * script.
   */
  async #recoveredOutcome(scriptId: string | undefined, force: boolean): Promise<Outcome | undefined> {
    if (scriptId === undefined || !this.#settings.harness.hasStore) return undefined;
    const outcome = await this.recover(scriptId, { force, evenEnded: true });
    return harnessRefusal(outcome) === undefined ? outcome : undefined;
  }

  /** The operations that the store has of a script. */
  async #storedOperations(scriptId: string | undefined): Promise<readonly Operation[]> {
    const { harness, options } = this.#settings;
    if (scriptId === undefined || !harness.hasStore) return [];
    return (await harness.inspect(scriptId, { principal: options.principal }))?.operations ?? [];
  }

  /**
   * Returns true if the script has made only reads. The store then has no journal of the script, and the script's
   * process can make no call with effects.
   */
  async #hasOnlyRead(call: UnfinishedCall, { startedCalls }: InterruptedRun): Promise<boolean> {
    if (call.type !== 'script_execution' || call.status !== 'executing' || call.script_id === undefined) return false;
    // defence: scripts-with-effects-do-not-run-again
    if ([...startedCalls.values()].some(({ scriptId, effect }) => scriptId === call.script_id && effect !== 'read'))
      return false;
    return this.#settings.harness.abandon(call.script_id);
  }
}

/**
 * The reason why the harness has not run the script, for example because another process has claimed the script.
 * Undefined if the script has run.
 */
export function harnessRefusal(outcome: Outcome): ScriptFailure | undefined {
  return outcome.status === 'failed' && outcome.metadata.runtime === 'none' ? outcome.error : undefined;
}

/** The source of a script that the events show as not started. */
function unstartedScript(call: UnfinishedCall): string | undefined {
  if (call.type === 'function_call') return scriptOfCall(call);
  return call.status === 'pending' ? call.source_code : undefined;
}
