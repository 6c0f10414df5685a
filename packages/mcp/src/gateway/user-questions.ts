import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  type ClientCapabilities,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Decision, Decisions, Outcome } from '@toolscript/core';
import { oneLine, thrownMessage } from '../connection/readable.js';
import type { GatewayCaller } from './caller.js';
import type { OfferedRules, SuggestedRule } from './suggested-rule.js';

export type SuspendedOutcome = Extract<Outcome, { status: 'suspended' }>;

/** The capabilities of the client. In the newest protocol, each request states them. */
export function declaredCapabilities(server: McpServer, { mcpReq }: ServerContext): ClientCapabilities | undefined {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const declared = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  return declared ?? server.server.getClientCapabilities();
}

/** Whether the caller may decide, and its client can ask its user. */
export function mayAskUser({ mayDecide }: Pick<GatewayCaller, 'mayDecide'>, server: McpServer, ctx: ServerContext) {
  // defence: mcp-callers-decide-by-scope
  return mayDecide && canAskUser(server, ctx);
}

/** Whether the client can show a form to its user. */
function canAskUser(server: McpServer, ctx: ServerContext): boolean {
  const elicitation = declaredCapabilities(server, ctx)?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Asks the user with one form for each pending call. */
export function askUser(
  { pendingApprovals }: SuspendedOutcome,
  offered: OfferedRules,
  requestState: string,
): InputRequiredResult {
  const entries = pendingApprovals.map((pending) => [
    pending.approvalId,
    inputRequired.elicit(decisionForm(pending, offered.get(pending.approvalId))),
  ]);
  return inputRequired({ inputRequests: Object.fromEntries(entries) as never, requestState });
}

/** The form for one pending call. It shows the rendered call of the approval. */
export function decisionForm({ rendered }: SuspendedOutcome['pendingApprovals'][number], rule?: SuggestedRule) {
  return {
    message: rendered,
    requestedSchema: {
      type: 'object' as const,
      properties: {
        decision: { type: 'string' as const, title: 'Decision', enum: choices(rule) },
        note: { type: 'string' as const, title: 'Note for the script' },
      },
      required: ['decision'],
    },
  };
}

/** The choices of the form. */
function choices(rule: SuggestedRule | undefined): string[] {
  return [...Object.keys(DECISIONS), ...(rule === undefined ? [] : [always(rule)])];
}

const MAX_COVERS = 300;

const always = ({ covers }: SuggestedRule) => `always approve ${oneLine(covers, MAX_COVERS)}`;

const DECISIONS = {
  approve: { decision: 'approve' },
  deny: { decision: 'deny' },
  'approve all calls of this tool in this script': { decision: 'approve', remember: 'script' },
} as const;

/**
 * The user's decisions, by approval id. Dismissed or invalid answers decide nothing. `isInstant`: the answer came faster
 * than a user can read; a client without a user declines at once, and such an answer decides nothing either. Stores the
 * rules that the user chose.
 */
export async function userDecisions(
  responses: Readonly<Record<string, unknown>> | undefined,
  { approvals, offered }: { readonly approvals: readonly string[]; readonly offered: OfferedRules },
  isInstant: boolean,
): Promise<Decisions> {
  const decisions: Record<string, Decision> = {};
  for (const approvalId of approvals) {
    const decision = await elicitedDecision(inputResponse(responses, approvalId), offered.get(approvalId), isInstant);
    if (decision !== undefined) decisions[approvalId] = decision;
  }
  return decisions;
}

async function elicitedDecision(
  view: ReturnType<typeof inputResponse>,
  rule: SuggestedRule | undefined,
  isInstant: boolean,
): Promise<Decision | undefined> {
  if (view.kind !== 'elicit' || view.action === 'cancel') return undefined;
  if (view.action === 'decline') return isInstant ? undefined : 'deny';
  const { decision, note } = view.content ?? {};
  if (rule !== undefined && decision === always(rule)) return remembered(rule);
  // defence: mcp-only-users-decide
  const isDecision = typeof decision === 'string' && Object.hasOwn(DECISIONS, decision);
  if (!isDecision) return undefined;
  const chosen = DECISIONS[decision as keyof typeof DECISIONS];
  return typeof note === 'string' && note !== '' ? { ...chosen, note } : chosen;
}

/** Stores the rule. If that fails, only this call is approved. */
async function remembered(rule: SuggestedRule): Promise<Decision> {
  try {
    await rule.add();
    return { decision: 'approve', remember: 'workspace' };
  } catch (error) {
    return {
      decision: 'approve',
      note: `The rule for later calls could not be stored, so they ask again: ${oneLine(thrownMessage(error), 300)}`,
    };
  }
}
