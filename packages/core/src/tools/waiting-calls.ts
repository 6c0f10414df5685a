import type { ApprovalRequest } from '../protocol/approvals.js';
import type { Tool } from '../protocol/tools.js';
import type { CallRecord } from './call-record.js';
import type { FacadeCall, WaitingCall } from './facade-types.js';

/** A call that waits for a decision, as it is stored while its script is suspended. */
export function waitingCall(record: CallRecord, request: ApprovalRequest): WaitingCall {
  const { callId, callIndex, line, column, snippet, detached, retries } = record.call;
  return {
    callIndex,
    callId,
    tool: record.tool.name,
    effect: record.tool.effect,
    inputJson: record.inputJson,
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    ...(snippet !== undefined && { snippet }),
    ...(detached !== undefined && { detached }),
    ...(retries !== undefined && { retries }),
    startedAtMs: record.startedAtMs,
    request,
  };
}

/** The call as the script made it, for the resumed script. */
export function resumedCall(waiting: WaitingCall): FacadeCall {
  const { callId, callIndex, tool, inputJson, line, column, snippet, detached, retries } = waiting;
  return {
    callId,
    callIndex,
    tool,
    argsJson: inputJson,
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    ...(snippet !== undefined && { snippet }),
    ...(detached !== undefined && { detached }),
    ...(retries !== undefined && { retries }),
  };
}

/** The input in an operation whose tool was removed after its script was suspended. */
export function goneTool({ tool, effect }: WaitingCall): Tool {
  return {
    name: tool,
    description: '',
    inputSchema: {},
    outputSchema: undefined,
    approval: 'always',
    effect,
    validateInput: () => ({ ok: false, issues: [] }),
    validateOutput: () => ({ ok: false, issues: [] }),
    permissions: undefined,
    preview: undefined,
    execute: () => undefined,
  };
}
