import type { Harness, KeptScriptDetails, RevertibleCall } from '@toolscript/core';
import type { ApprovalPolicy } from '@toolscript/core/protocol';
import type { ScriptUndo, UndoReport, UndoRequest } from '@toolscript/server/access';
import type { conflictRefusal, planUndo, undoChanges, UndoPlan, UndoRefusal, Workspace } from '@toolscript/tools';

export interface FolderUndoOptions {
  /** The workspace of the scripts, with the records of their changes. */
  readonly workspace: Workspace;
  /** The harness with the tools that undo their own calls, and with the store of the scripts. */
  readonly harness: () => Promise<Pick<Harness, 'inspect' | 'revertible' | 'revert'>>;
  /** The policy that decides about the calls to undo, after the user has confirmed the undo. */
  readonly approvals: ApprovalPolicy;
  /** Functions of `@toolscript/tools`, which are loaded only for an undo. */
  readonly tools: {
    readonly planUndo: typeof planUndo;
    readonly undoChanges: typeof undoChanges;
    readonly conflictRefusal: typeof conflictRefusal;
  };
}

type Script = Pick<UndoRequest, 'scriptId' | 'direction'>;

/** The tools that record their changes to files. */
const RECORDING = ['writeFile', 'applyPatch'];
/** The tools that start programs. A program may change any file without a record. */
const COMMANDS = ['exec', 'shell'];

/**
 * Undoes the scripts of one workspace: first all or none of a script's changes to files, and then the calls that their
 * tools can undo, newest first. A redo repeats only the changes to files.
 */
export class FolderUndo implements ScriptUndo {
  readonly #options: FolderUndoOptions;

  constructor(options: FolderUndoOptions) {
    this.#options = options;
  }

  async preview(request: UndoRequest & { readonly diff?: boolean | undefined }): Promise<UndoReport | undefined> {
    const { workspace, tools } = this.#options;
    const { scriptId, direction, diff = false } = request;
    const calls = await this.#revertibleCalls(request);
    if (calls === undefined || 'refused' in calls) return calls && refusedReport(request, calls);
    const plan = await tools.planUndo(workspace, scriptId, { direction, diff });
    const report = { ...undoReport(request, plan, calls), isDone: false };
    if ('refused' in plan) return isOnlyFiles(plan, report) ? refusedReport(request, plan, report) : report;
    return plan.conflicts.length === 0 ? report : refusedReport(request, tools.conflictRefusal(plan), report);
  }

  async undo(request: UndoRequest & { readonly planId?: string | undefined }): Promise<UndoReport | undefined> {
    const { workspace, tools } = this.#options;
    const { scriptId, direction, planId } = request;
    const calls = await this.#revertibleCalls(request);
    if (calls === undefined || 'refused' in calls) return calls && refusedReport(request, calls);
    const options = { direction, ...(planId === undefined ? {} : { planId }) };
    const done = await tools.undoChanges(workspace, scriptId, options);
    const report = undoReport(request, done, calls);
    if ('refused' in done && isOnlyFiles(done, report)) return refusedReport(request, done, report);
    return report.calls.length === 0 ? { ...report, isDone: true } : this.#revert(request, report);
  }

  async #revert({ scriptId, principal }: UndoRequest, report: UndoReport): Promise<UndoReport> {
    const harness = await this.#options.harness();
    const { approvals } = this.#options;
    const reverted = await harness.revert(scriptId, { approvals, ...(principal === undefined ? {} : { principal }) });
    const ended = reverted.ok ? reverted.calls : [];
    const isDone = ({ callId }: { callId: string }) =>
      ended.some((call) => call.callId === callId && call.status === 'reverted');
    const whyNot = reverted.ok ? undefined : reverted.error.message;
    const left = report.calls
      .filter((call) => !isDone(call))
      .map((call) => ({ ...call, reason: whyNot ?? undoFailureReason(ended, call.callId) }));
    return {
      ...report,
      isDone: true,
      calls: report.calls.filter(isDone),
      notUndone: [...left, ...report.notUndone],
    };
  }

  /** The calls with effects, newest first; none for a redo. Undefined if the script does not exist. */
  async #revertibleCalls({
    scriptId,
    principal,
    direction,
  }: UndoRequest): Promise<readonly RevertibleCall[] | UndoRefusal | undefined> {
    const harness = await this.#options.harness();
    const owner = principal === undefined ? {} : { principal };
    const details = await harness.inspect(scriptId, owner);
    if (details === undefined) return undefined;
    if (details.state === 'running') return running(details);
    return direction === 'redo' ? [] : ((await harness.revertible(scriptId, owner)) ?? []);
  }
}

function undoFailureReason(ended: readonly RevertibleCall[], callId: string): string {
  return ended.find((call) => call.callId === callId)?.reason ?? 'a later call could not be undone';
}

function running({ scriptId }: KeptScriptDetails): UndoRefusal {
  return {
    refused: 'busy',
    message: `${scriptId} is running. Wait until the script has ended, or stop the process that runs it.`,
    conflicts: [],
  };
}

/** True if a refusal of the files ends the undo: no call can be undone, or the files themselves prevent the undo. */
function isOnlyFiles({ refused }: UndoRefusal, { calls }: UndoReport): boolean {
  return calls.length === 0 || (refused !== 'nothing_recorded' && refused !== 'already_undone');
}

function undoReport(
  { scriptId, direction }: Script,
  plan: UndoPlan | UndoRefusal,
  calls: readonly RevertibleCall[],
): UndoReport {
  const isRecorded = !('refused' in plan) || plan.refused !== 'nothing_recorded';
  const files = 'refused' in plan ? { files: [], conflicts: plan.conflicts, notUndoable: [] } : plan;
  return {
    scriptId,
    direction,
    ...('planId' in files ? { planId: files.planId } : {}),
    isDone: false,
    files: [...files.files],
    conflicts: [...files.conflicts],
    notUndoable: [...files.notUndoable],
    calls: calls.filter(({ status }) => status === 'revertible').map((call) => shownCall(call, plan)),
    notUndone: calls
      .filter(
        ({ status, tool }) =>
          status !== 'revertible' && status !== 'reverted' && !(isRecorded && RECORDING.includes(tool)),
      )
      .map((call) => shownCall(call, plan)),
  };
}

function shownCall({ callId, tool, line, reason }: RevertibleCall, { gaps = [] }: Pick<UndoRefusal, 'gaps'>) {
  const gap = gaps.find((one) => one.callId === callId)?.reason;
  const why = gap ?? (COMMANDS.includes(tool) ? 'the files that its program changed are not recorded' : reason);
  return { callId, tool, ...(line === undefined ? {} : { line }), ...(why === undefined ? {} : { reason: why }) };
}

function refusedReport(script: Script, { refused, message, conflicts }: UndoRefusal, report?: UndoReport): UndoReport {
  const known = report ?? undoReport(script, { refused, message, conflicts }, []);
  return { ...known, isDone: false, conflicts: [...conflicts], refusal: { code: refused, message } };
}
