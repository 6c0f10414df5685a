import type { ApprovalRequest, EventPayload } from '../protocol/index.js';
import { operationToItem } from '../history/index.js';
import type { SessionEvent } from '../session/index.js';

/** Converts a session's event to a stream payload; undefined for events that stay with the host. */
export function sessionPayload(event: SessionEvent, scriptId: string | undefined): EventPayload | undefined {
  const script = scriptId === undefined ? {} : { script_id: scriptId };
  switch (event.type) {
    case 'tool_call_start':
      return {
        type: 'tool_call_start',
        call_id: event.callId,
        ...script,
        tool: event.tool,
        input: event.input,
        effect: event.effect,
        ...(event.line === undefined ? {} : { line: event.line }),
      };
    case 'tool_call_done':
      return {
        type: 'tool_call_done',
        call_id: event.operation.callId,
        ...script,
        operation: operationToItem(event.operation),
      };
    case 'approval_requested':
      return { type: 'approval_requested', approval: approvalToEvent(event.request) };
    case 'approval_resolved':
      return {
        type: 'approval_resolved',
        approval_id: event.approvalId,
        call_id: event.callId,
        ...script,
        decision: event.decision,
        by: event.by,
        ...(event.note === undefined ? {} : { note: event.note }),
        ...(event.remember === undefined ? {} : { remember: event.remember }),
        ...(event.replacedInputJson === undefined ? {} : { edited_input_json: event.inputJson }),
      };
    case 'progress':
      if (scriptId === undefined) return undefined;
      return {
        type: 'script_progress',
        script_id: scriptId,
        message: event.message,
        kind: event.kind,
        ...(event.callId === undefined ? {} : { call_id: event.callId }),
      };
    case 'log':
      if (scriptId === undefined) return undefined;
      return {
        type: 'script_log',
        script_id: scriptId,
        level: event.entry.level,
        text: event.entry.text,
        at_ms: event.entry.atMs,
      };
    case 'internal':
      return undefined;
  }
}

function approvalToEvent(request: ApprovalRequest) {
  return {
    approval_id: request.approvalId,
    call_id: request.callId,
    ...(request.scriptId === undefined ? {} : { script_id: request.scriptId }),
    tool: request.tool,
    input: request.input,
    input_json: request.inputJson,
    effect: request.effect,
    ...(request.line === undefined ? {} : { line: request.line }),
    ...(request.snippet === undefined ? {} : { snippet: request.snippet }),
    ...(request.context === undefined ? {} : { context: request.context }),
    ...(request.agents === undefined ? {} : { agents: request.agents }),
    rendered: request.rendered,
    ...(request.createdAt === undefined ? {} : { created_at: request.createdAt }),
    ...(request.expiresAt === undefined ? {} : { expires_at: request.expiresAt }),
  };
}
