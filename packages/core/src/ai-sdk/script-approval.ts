import type { Harness } from '../harness/index.js';
import { ToolCallError, type ApprovalCallback, type Decision, type PlannedCall } from '../protocol/index.js';
import { writtenNames } from '../text/identifier-name.js';
import type { ReadTool } from './sdk-tools.js';
import type { OuterCall } from './tool-approval.js';

/**
 * Returns true if the script names a call that needs the approval of a user. A script that cannot run, because it does
 * not compile or because scripts are disabled, needs no approval. The AI SDK calls this function again after the user
 * has answered, so the same script must always get the same result.
 */
export async function needsUser(
  harness: Harness,
  tools: readonly ReadTool[],
  code: unknown,
  call: OuterCall,
): Promise<boolean> {
  if (typeof code !== 'string' || harness.mode !== 'enabled') return false;
  const { status, plan } = await harness.runScript(code, { mode: 'dry-run' });
  if (status !== 'completed') return false;
  for (const planned of plan) if (await callNeedsUser(tools, planned, call)) return true;
  return false;
}

async function callNeedsUser(tools: readonly ReadTool[], planned: PlannedCall, call: OuterCall): Promise<boolean> {
  const judge = tools.find(({ tool }) => names(planned, tool.name))?.judge;
  if (judge === undefined) return false;
  if (planned.input === undefined) return true;
  // If the judge throws, the user decides, as for a single call.
  return judge(planned.input, call).then(
    (verdict) => verdict === 'ask',
    () => true,
  );
}

/**
 * Decides about the calls of a script that need approval. The messages contain the user's decision about the whole
 * script. The decision covers only the tools that the script names, because the user has seen only those.
 */
export function decideByMessages(tools: readonly ReadTool[], call: OuterCall): ApprovalCallback {
  return async ({ tool: name, plan, input }): Promise<Decision> => {
    const judge = tools.find(({ tool }) => tool.name === name)?.judge;
    const verdict = await judge?.(input, call).catch(() => 'ask' as const);
    // defence: denied-by-the-program
    if (typeof verdict === 'object') throw new ToolCallError('ApprovalDeniedError', verdict.denied);
    if (plan.some((planned) => names(planned, name)) && isApproved(call)) return 'approve';
    throw new ToolCallError(
      'ApprovalDeniedError',
      `no user has approved it; write tools.${writtenNames(name)[0]}(…) in the script, so that the user is asked before the script runs`,
    );
  };
}

function names(planned: PlannedCall, tool: string): boolean {
  return writtenNames(tool).includes(planned.tool);
}

interface Part {
  readonly type?: unknown;
  readonly approvalId?: unknown;
  readonly toolCallId?: unknown;
  readonly approved?: unknown;
}

function isApproved({ toolCallId, messages }: OuterCall): boolean {
  const parts = messages.flatMap(messageParts);
  const requests = parts.filter((part) => part.type === 'tool-approval-request' && part.toolCallId === toolCallId);
  const ids = new Set(requests.map(({ approvalId }) => approvalId));
  return parts.some(
    ({ type, approvalId, approved }) => type === 'tool-approval-response' && ids.has(approvalId) && approved === true,
  );
}

function messageParts(message: unknown): readonly Part[] {
  const { content } = message as { content?: unknown };
  return Array.isArray(content) ? (content as Part[]) : [];
}
