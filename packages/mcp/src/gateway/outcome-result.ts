import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Outcome } from '@toolscript/core';
import { renderOutcomeParts } from '@toolscript/core/history';
import { z } from 'zod';
import type { GatewayServices } from './services.js';

/** The outcome of a script as data. Only what every client needs is declared: a declaration costs every prompt tokens. */
export const ResultSchema = z.looseObject({
  status: z.enum(['completed', 'failed', 'suspended', 'running']),
  scriptId: z.string(),
});

const BYTES_PER_TOKEN = 4;
const UNKNOWN_TOOL: ReadonlySet<string> = new Set(['ToolNotFoundError', 'ScriptTypeError']);

/**
 * The result of a call that ran a script. Some clients show their model only `content`, others only
 * `structuredContent`, so both carry the same facts. `next`: the next step.
 */
export async function outcomeResult(
  services: GatewayServices,
  outcome: Outcome,
  code: string | undefined,
  next?: string,
): Promise<CallToolResult> {
  const { harness, loadImage } = services;
  const { modelOutputTokens: tokenBudget } = harness.limits;
  const parts = await renderOutcomeParts(outcome, { tokenBudget, source: code, loadImage });
  const content = parts.map((part) =>
    part.type === 'text'
      ? { type: 'text' as const, text: part.text }
      : { type: 'image' as const, data: part.data, mimeType: part.media_type },
  );
  const maxLength = tokenBudget * BYTES_PER_TOKEN;
  const value = valueText(outcome);
  const notes = [
    ...restOfValue(outcome, value, maxLength),
    ...missingTools(services, outcome),
    ...(next ? [next] : []),
  ];
  return {
    content: notes.length === 0 ? content : [...content, { type: 'text', text: notes.join('\n') }],
    structuredContent: structuredOutcome(outcome, value, { maxLength, notes }),
    ...(outcome.status === 'failed' ? { isError: true } : {}),
  };
}

/** The beginning of a text, with its whole length. */
export function textPart(text: string, offset: number, maxLength: number): string {
  const part = text.slice(offset, offset + maxLength);
  return offset + part.length < text.length
    ? `${part}\n[characters ${offset} to ${offset + part.length} of ${text.length}]`
    : part;
}

/** The JSON text of a script's value; undefined without a value. */
export function valueText(outcome: Outcome): string | undefined {
  return outcome.status === 'completed' ? JSON.stringify(outcome.value) : undefined;
}

function restOfValue(outcome: Outcome, value: string | undefined, maxLength: number): string[] {
  const { length } = value ?? '';
  if (length <= maxLength) return [];
  return [
    `The value is too large to show whole: it has ${length} characters of JSON. Call read_value with { "scriptId": "${outcome.scriptId}", "offset": 0 } to read its parts, or run a script that returns less.`,
  ];
}

function missingTools({ notices }: GatewayServices, outcome: Outcome): readonly string[] {
  const isMissing = outcome.status === 'failed' && UNKNOWN_TOOL.has(outcome.error.code);
  return isMissing ? (notices?.() ?? []) : [];
}

function structuredOutcome(
  outcome: Outcome,
  value: string | undefined,
  { maxLength, notes }: { readonly maxLength: number; readonly notes: readonly string[] },
): z.infer<typeof ResultSchema> {
  const { status, scriptId, output, logs, operations, diagnostics } = outcome;
  const warnings = diagnostics.filter(({ severity, code }) => severity === 'warning' && !code.startsWith('ts'));
  return {
    status,
    scriptId,
    ...structuredValue(outcome, value, maxLength),
    ...(outcome.status === 'failed' ? { error: structuredError(outcome.error) } : {}),
    ...(outcome.status === 'suspended' ? { pendingApprovals: outcome.pendingApprovals.map(structuredApproval) } : {}),
    output: textPart(output, 0, maxLength),
    logs: textPart(logs.map(({ level, text }) => `${level}: ${text}`).join('\n'), 0, maxLength)
      .split('\n')
      .filter((line) => line !== ''),
    operations: operations.map(({ tool, status: state, line, error }) => ({
      tool,
      status: state,
      line,
      error: error?.message,
    })),
    ...(warnings.length === 0 ? {} : { warnings: warnings.map(({ message }) => message) }),
    ...(notes.length === 0 ? {} : { next: notes.join('\n') }),
  };
}

/** The value, or the beginning of its JSON text if it is too large. */
function structuredValue(
  outcome: Outcome,
  text: string | undefined,
  maxLength: number,
): { value?: unknown; valuePart?: string } {
  if (text === undefined || outcome.status !== 'completed') return {};
  return text.length <= maxLength ? { value: outcome.value } : { valuePart: textPart(text, 0, maxLength) };
}

function structuredError(error: Extract<Outcome, { status: 'failed' }>['error']) {
  const { code, message, line, column, toolName, hint, frame, retryable } = error;
  return { code, message, line, column, toolName, hint, frame, retryable };
}

function structuredApproval({ approvalId, tool, input, rendered }: PendingApproval) {
  return { approvalId, tool, input, rendered };
}

type PendingApproval = Extract<Outcome, { status: 'suspended' }>['pendingApprovals'][number];
