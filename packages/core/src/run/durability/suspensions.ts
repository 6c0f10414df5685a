import type {
  ApprovalRequest,
  Decision,
  GateMemory,
  HarnessStore,
  Outcome,
  SandboxCapture,
  ScriptFormat,
  ScriptLanguage,
  ScriptStatus,
  WaitingApproval,
  RunIdentity,
} from '../../protocol/index.js';
import { callIdIndex } from '../../calls/facade/index.js';
import type { SuspendedEnd, SuspendedScript } from '../../calls/session/index.js';
import type { AnswerRest, Sealable } from '../../answer/index.js';
import { reportInternalError, type DurabilityServices } from './services.js';
import { tapeSettlements, withoutResult, withResult, type StoredDecisions } from './journal-lines.js';
import type { StoreJournal } from './store-journal.js';
import type { SuspensionHeader } from './suspension-envelope.js';

/** The ids by which later events refer to a script's item. */
export interface ItemNames {
  id: string;
  callId: string;
  /** True: the script's output has a report. */
  reported?: true | undefined;
}

/** The form in which a script arrived, and the ids for its events. */
export interface ScriptFrame {
  identity: RunIdentity;
  language: ScriptLanguage;
  format: ScriptFormat;
  /** Undefined if no event announced the script. */
  item: ItemNames | undefined;
  /** The id of the structured call that the script makes. */
  callId?: string | undefined;
}

/** The sealed content of a suspension. */
export interface Suspension {
  header: SuspensionHeader;
  frame: ScriptFrame;
  /** The number of the first event after the resume. */
  nextSeq: number;
  script: SuspendedScript;
  /** Earlier decisions of the user. */
  memory: GateMemory;
  answer: AnswerRest | undefined;
}

interface SealedData {
  frame: ScriptFrame;
  nextSeq: number;
  script: Omit<SuspendedScript, 'capture'>;
  capture: Omit<SandboxCapture, 'state'> | undefined;
  answer: AnswerRest | undefined;
}

/** A script that is being suspended. A script inside an answer is sealed once the rest of the answer is known. */
export class PendingSuspension implements Sealable {
  readonly #services: DurabilityServices;
  readonly #end: SuspendedEnd;
  readonly #frame: ScriptFrame;
  readonly #epoch: number;
  readonly #journal: StoreJournal | undefined;

  /** `kept`: the journal of the script, if the harness has a store, and the epoch of the script. */
  constructor(services: DurabilityServices, end: SuspendedEnd, frame: ScriptFrame, kept: ClaimedScript) {
    this.#services = services;
    this.#end = end;
    this.#frame = frame;
    this.#journal = kept.journal;
    this.#epoch = kept.epoch;
  }

  get scriptId(): string {
    return this.#end.scriptId;
  }

  /** Seals and stores the suspension. After the method resolves, the suspension is as durable as its store. */
  async seal(nextSeq: number, answer: AnswerRest | undefined): Promise<string> {
    const { suspended } = this.#end;
    if (suspended.capture !== undefined) await keepImages(this.#services, suspended.capture.images);
    await this.#journal?.opened();
    const header = this.#header();
    const text = this.#write(header, nextSeq, answer);
    const status = suspendedStatus(header, this.#end.pendingApprovals);
    await this.#journal?.suspended(text, status, (error) =>
      reportInternalError(
        this.#services,
        this.scriptId,
        `The suspension may not survive a power failure: ${String(error)}. Check the store of scripts.`,
      ),
    );
    this.#services.inProcess?.put(this.scriptId, text);
    return text;
  }

  outcome(suspension: string): Outcome {
    const { suspended: _suspended, ...rest } = this.#end;
    return { ...rest, suspension };
  }

  #header(): SuspensionHeader {
    const { capture, start } = this.#end.suspended;
    return {
      kind: 'toolscript.suspension',
      version: 1,
      scriptId: this.#end.scriptId,
      epoch: this.#journal?.epoch ?? this.#epoch,
      principal: start.principal,
      threadId: this.#frame.identity.threadId,
      runId: this.#journal?.runId,
      createdAtMs: Date.now(),
      images: [...(capture?.images ?? [])],
    };
  }

  #write(header: SuspensionHeader, nextSeq: number, answer: AnswerRest | undefined): string {
    const { capture, calls, ...rest } = this.#end.suspended;
    const script = { ...rest, calls: { ...calls, ended: calls.ended.map(withoutResult) } };
    const { state = new Uint8Array(), ...about } = capture ?? {};
    const data: SealedData = {
      frame: this.#frame,
      nextSeq,
      script,
      capture: capture && (about as SealedData['capture']),
      answer,
    };
    return this.#services.seal.seal(header, data, state);
  }
}

/** Opens a suspension. Throws a `SealError` for a text that cannot be opened. */
export function openSuspension({ seal }: DurabilityServices, text: string): Suspension {
  const { header, data, bytes } = seal.open(text);
  const { frame, nextSeq, script, capture, answer } = data as SealedData;
  const results = tapeSettlements(script.tape.batches);
  const calls = {
    ...script.calls,
    ended: script.calls.ended.map((call) => withResult(call, results.get(callIdIndex(call.callId)))),
  };
  const whole = { ...script, calls, capture: capture === undefined ? undefined : { ...capture, state: bytes } };
  return { header, frame, nextSeq, script: whole, memory: calls.approvals, answer };
}

/** A script that this process runs. `epoch` is set even without a store. */
export interface ClaimedScript {
  journal: StoreJournal | undefined;
  epoch: number;
}

/** Returns the list entry of a suspended script. `decisions`: the decisions that were already made. */
export function suspendedStatus(
  { threadId, runId, principal, images }: Pick<SuspensionHeader, 'threadId' | 'runId' | 'principal' | 'images'>,
  requests: readonly ApprovalRequest[],
  decisions: StoredDecisions = {},
): ScriptStatus {
  const approvals = waitingApprovals(requests, decisions);
  return { state: 'suspended', threadId, runId, principal, approvals, images };
}

/** Returns the list entries of requests. `decisions`: the decisions that were already made. */
export function waitingApprovals(
  requests: readonly ApprovalRequest[],
  decisions: StoredDecisions = {},
): WaitingApproval[] {
  return requests.map(({ approvalId, tool, line }) => {
    const decision = decisions[approvalId];
    return {
      approvalId,
      tool,
      line,
      ...(decision === undefined ? {} : { decided: decisionAnswer(decision) }),
    };
  });
}

function decisionAnswer(decision: Decision): 'approve' | 'deny' {
  return typeof decision === 'string' ? decision : decision.decision;
}

/** Stores the engine and the image, so that a later version of Toolscript can still resume the script. */
export async function keepImages(services: DurabilityServices, names: readonly string[]): Promise<void> {
  const { keeping, keepingImages } = services;
  if (keeping === undefined) return;
  const { store } = keeping.leases;
  await Promise.all(
    names.map((name) => {
      const before = keepingImages.get(name);
      if (before !== undefined) return before;
      // Scripts that are suspended at the same time usually need the same images, so each image is stored once.
      const keep = keepImage(services, store, name).finally(() => keepingImages.delete(name));
      keepingImages.set(name, keep);
      return keep;
    }),
  );
}

async function keepImage({ runtime }: DurabilityServices, store: HarnessStore, name: string): Promise<void> {
  if (await store.images.has(name)) return;
  const bytes = (await runtime.images?.())?.get(name);
  if (bytes !== undefined) await store.images.put(name, bytes);
}
