import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
  ToolCallUpdate,
} from '@agentclientprotocol/sdk';
import type { ApprovalRequest } from '@toolscript/core/protocol';
import type { UserAnswer } from '../approvals/asker.js';
import type { NewRule, WorkspaceRules } from '../approvals/workspace-rules.js';
import { patchDiffs } from './file-diffs.js';
import { callFacts } from './session-view.js';

/** The prefix of the ids of the options that store a rule; the number of the rule follows. */
const RULE = 'workspace-';

/** The question that an editor shows to its user about a call. */
export function permissionRequest(
  request: ApprovalRequest,
  { sessionId, folder, suggestions }: { sessionId: string; folder: string; suggestions: readonly NewRule[] },
): RequestPermissionRequest {
  return { sessionId, toolCall: askedCall(request, folder), options: permissionOptions(request, suggestions) };
}

/** The user's answer. Stores the rule that the user chose. `suspend`: the editor has withdrawn the question. */
export async function permissionAnswer(
  { outcome }: RequestPermissionResponse,
  suggestions: readonly NewRule[],
  rules: Pick<WorkspaceRules, 'remember'>,
): Promise<UserAnswer> {
  if (outcome.outcome === 'cancelled') return 'suspend';
  const { optionId } = outcome;
  if (optionId === 'allow') return 'approve';
  if (optionId === 'script') return { decision: 'approve', remember: 'script' };
  const rule = optionId.startsWith(RULE) ? suggestions[Number(optionId.slice(RULE.length))] : undefined;
  if (rule === undefined) return 'deny';
  await rules.remember(rule);
  return { decision: 'approve', remember: 'workspace' };
}

function askedCall(request: ApprovalRequest, folder: string): ToolCallUpdate {
  const diffs = patchDiffs(request.rendered, folder).map((diff) => ({ type: 'diff' as const, ...diff }));
  const text = { type: 'content' as const, content: { type: 'text' as const, text: request.rendered } };
  return {
    toolCallId: request.callId,
    ...callFacts(request),
    status: 'pending',
    content: diffs.length === 0 ? [text] : diffs,
  };
}

function permissionOptions({ tool }: ApprovalRequest, suggestions: readonly NewRule[]): PermissionOption[] {
  return [
    { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
    { optionId: 'script', name: `Allow every call of ${tool} in this script`, kind: 'allow_always' },
    ...suggestions.map(({ covers }, index) => ({
      optionId: `${RULE}${index}`,
      name: `Always allow in this workspace: ${covers}`,
      kind: 'allow_always' as const,
    })),
    { optionId: 'refuse', name: 'Refuse', kind: 'reject_once' },
  ];
}
