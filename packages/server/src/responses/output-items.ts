import type { OutputItem } from '@toolscript/core/protocol';
import {
  EXTENSION_PREFIX,
  type ExtensionItem,
  type WireFunctionCall,
  type WireMessage,
  type WireReasoning,
} from './wire.js';

/** Items of a run in the form that a client reads. */

export function wireMessage(id: string, text: string, status: WireMessage['status']): WireMessage {
  const content = status === 'in_progress' ? [] : [outputText(text)];
  return { type: 'message', id, status, role: 'assistant', content };
}

export function outputText(text: string): WireMessage['content'][number] {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** Reasoning is shown as a summary, because most providers return one. */
export function wireReasoning(id: string, text: string, status: WireReasoning['status']): WireReasoning {
  return { type: 'reasoning', id, status, summary: status === 'in_progress' ? [] : [summaryText(text)] };
}

export function summaryText(text: string): WireReasoning['summary'][number] {
  return { type: 'summary_text', text };
}

export function wireCall(
  { id, call_id, name }: { readonly id: string; readonly call_id: string; readonly name: string },
  text: string,
  status: WireFunctionCall['status'],
): WireFunctionCall {
  return { type: 'function_call', id, status, call_id, name, arguments: text };
}

/** The item in the form of an extension of the API. Returns undefined for items that clients never see. */
export function extensionItem(item: OutputItem): ExtensionItem | undefined {
  switch (item.type) {
    case 'script_execution':
      return extension(item, {
        call_id: item.call_id,
        script_id: item.script_id,
        language: item.language,
        source_code: item.source_code,
      });
    case 'script_execution_output':
      return extension(item, {
        call_id: item.call_id,
        script_id: item.script_id,
        outcome: item.status,
        result: item.result,
        summary: item.summary,
        output: item.output,
        logs: item.logs,
        operations: item.operations,
        diagnostics: item.diagnostics,
        error: item.error,
        metadata: item.metadata,
      });
    case 'function_call':
      return extension(item, { call_id: item.call_id, name: item.name, arguments: item.arguments });
    case 'function_call_output':
      return extension(item, { call_id: item.call_id, output: item.output, success: item.success });
    default:
      return undefined;
  }
}

function extension({ type, id }: OutputItem, members: Readonly<Record<string, unknown>>): ExtensionItem {
  const given = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  return { type: `${EXTENSION_PREFIX}${type}` as ExtensionItem['type'], id, status: 'completed', ...given };
}
