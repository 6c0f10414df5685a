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

export type SuspendedOutcome = Extract<Outcome, { status: 'suspended' }>;

/** Whether the client can show a form to its user. In the newest protocol, each request states this capability. */
export function canAskUser(server: McpServer, { mcpReq }: ServerContext): boolean {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const declared = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const elicitation = (declared ?? server.server.getClientCapabilities())?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Asks the user with one form for each pending call. Each form shows the rendered call of the approval. */
export function askUser({ pendingApprovals }: SuspendedOutcome, requestState: string): InputRequiredResult {
  const entries = pendingApprovals.map(({ approvalId, rendered }) => [
    approvalId,
    inputRequired.elicit({
      message: rendered,
      requestedSchema: {
        type: 'object',
        properties: {
          decision: { type: 'string', title: 'Decision', enum: Object.keys(DECISIONS) },
          note: { type: 'string', title: 'Note for the script' },
        },
        required: ['decision'],
      },
    }),
  ]);
  return inputRequired({ inputRequests: Object.fromEntries(entries) as never, requestState });
}

/** The choices of the form. */
const DECISIONS = {
  approve: { decision: 'approve' },
  deny: { decision: 'deny' },
  'approve all calls of this tool in this script': { decision: 'approve', remember: 'script' },
} as const;

/**
 * The user's decisions, by approval id. Dismissed or invalid answers decide nothing. `isInstant`: the answer came faster
 * than a user can read; a client without a user declines at once, and such an answer decides nothing either.
 */
export function userDecisions(
  responses: Readonly<Record<string, unknown>> | undefined,
  approvals: readonly string[],
  isInstant: boolean,
): Decisions {
  const decided = approvals.flatMap((approvalId): [string, Decision][] => {
    const decision = elicitedDecision(inputResponse(responses, approvalId), isInstant);
    return decision === undefined ? [] : [[approvalId, decision]];
  });
  return Object.fromEntries(decided);
}

function elicitedDecision(view: ReturnType<typeof inputResponse>, isInstant: boolean): Decision | undefined {
  if (view.kind !== 'elicit' || view.action === 'cancel') return undefined;
  if (view.action === 'decline') return isInstant ? undefined : 'deny';
  const { decision, note } = view.content ?? {};
  // defence: mcp-only-users-decide
  const isDecision = typeof decision === 'string' && Object.hasOwn(DECISIONS, decision);
  if (!isDecision) return undefined;
  const chosen = DECISIONS[decision as keyof typeof DECISIONS];
  return typeof note === 'string' && note !== '' ? { ...chosen, note } : chosen;
}
