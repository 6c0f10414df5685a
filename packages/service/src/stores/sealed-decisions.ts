import type { Approval, StoredDecision } from '@toolscript/core/protocol';
import { stateAfter } from './store-rules.js';

/** Authenticates decisions with a key that the database does not contain: `suspensionSeal` of a harness's key. */
export interface DecisionSeal {
  /** Returns the MAC of a text. */
  mac(text: string): string;
  /** Whether one of the keys made this MAC of the text. */
  isMac(text: string, mac: string): boolean;
}

/** A decision as it is stored with a seal. */
interface SealedDecision {
  readonly decision: 'approve' | 'deny';
  readonly sealed: StoredDecision;
  readonly mac: string;
}

const FORGED: StoredDecision = {
  decision: 'deny',
  note: 'The stored decision was not made with the suspension key of this service, so it does not count.',
};

/**
 * The decision with its MAC, as the store keeps it: the store itself reads only the verdict. Without a seal, the
 * decision itself.
 */
export function sealDecision(
  seal: DecisionSeal | undefined,
  approvalId: string,
  { decision, by }: { readonly decision: StoredDecision; readonly by: string },
): StoredDecision {
  if (seal === undefined) return decision;
  const verdict = typeof decision === 'string' ? decision : decision.decision;
  const mac = seal.mac(authenticatedText(approvalId, decision, by));
  return { decision: verdict, sealed: decision, mac } satisfies SealedDecision as StoredDecision;
}

/** The approval as it was decided. A decision that was not made with the key of the seal is a denial. */
export function openApproval(seal: DecisionSeal | undefined, approval: Approval): Approval {
  const { approvalId, state, decision, decidedBy = '' } = approval;
  if (state !== 'approved' && state !== 'denied') return approval;
  const { sealed, mac = '' } = (typeof decision === 'object' ? decision : {}) as Partial<SealedDecision>;
  if (seal === undefined) return sealed === undefined ? approval : { ...approval, decision: sealed };
  // defence: only-sealed-decisions
  if (sealed === undefined || !seal.isMac(authenticatedText(approvalId, sealed, decidedBy), mac))
    return { ...approval, state: 'denied', decision: FORGED };
  return { ...approval, state: stateAfter(sealed), decision: sealed };
}

export function openApprovals(seal: DecisionSeal | undefined, approvals: readonly Approval[]): Approval[] {
  return approvals.map((approval) => openApproval(seal, approval));
}

function authenticatedText(approvalId: string, decision: StoredDecision, by: string): string {
  return JSON.stringify(['decision', approvalId, by, decision]);
}
