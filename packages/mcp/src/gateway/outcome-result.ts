import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Outcome } from '@toolscript/core';
import { renderOutcomeParts, scopeText } from '@toolscript/core/history';
import type { GatewayServices } from './services.js';
import { shownValue, textPart, valueText } from './value-text.js';

const BYTES_PER_TOKEN = 4;
const UNKNOWN_TOOL: ReadonlySet<string> = new Set(['ToolNotFoundError', 'ScriptTypeError']);

/**
 * The result of a call that ran a script. Some clients show their model only `content`, others only
 * `structuredContent`, so both carry the same facts. `structuredContent` cannot contain images, so a result with images
 * has none. `next`: the next step.
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
  const report = content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n');
  const notes = [
    ...restOfValue(outcome, value, maxLength),
    ...missingTools(services, outcome).filter((notice) => !report.includes(notice)),
    ...(next ? [next] : []),
  ];
  const hasImages = content.some(({ type }) => type === 'image');
  return {
    content: notes.length === 0 ? content : [...content, { type: 'text', text: notes.join('\n') }],
    ...(hasImages ? {} : { structuredContent: structuredOutcome(outcome, report, { maxLength, notes }) }),
    ...(outcome.status === 'failed' ? { isError: true } : {}),
  };
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
  return isMissing ? (notices?.({ nothingFound: true }) ?? []) : [];
}

/** `report`: the text of `content`. A completed script has its value in its place. */
function structuredOutcome(
  outcome: Outcome,
  report: string,
  { maxLength, notes }: { readonly maxLength: number; readonly notes: readonly string[] },
): Record<string, unknown> {
  const { status, scriptId, operations } = outcome;
  return {
    status,
    scriptId,
    ...(outcome.status === 'completed' ? structuredSuccess(outcome, maxLength) : { report }),
    ...(outcome.status === 'failed' ? { error: structuredError(outcome.error) } : {}),
    ...(outcome.status === 'suspended' ? { pendingApprovals: outcome.pendingApprovals.map(structuredApproval) } : {}),
    operations: operations.map(({ tool, status: state, line, error }) => ({
      tool,
      status: state,
      line,
      error: error?.message,
    })),
    ...(notes.length === 0 ? {} : { next: notes.join('\n') }),
  };
}

function structuredSuccess(outcome: Extract<Outcome, { status: 'completed' }>, maxLength: number): object {
  const { output, logs, diagnostics, scope = [] } = outcome;
  const warnings = diagnostics.filter(({ severity, code }) => severity === 'warning' && !code.startsWith('ts'));
  return {
    ...structuredValue(outcome, maxLength),
    output: textPart(output, 0, maxLength),
    logs: textPart(logs.map(({ level, text }) => `${level}: ${text}`).join('\n'), 0, maxLength)
      .split('\n')
      .filter((line) => line !== ''),
    ...(warnings.length === 0 ? {} : { warnings: warnings.map(({ message }) => message) }),
    ...(scope.length === 0 ? {} : { inScope: scope.map(scopeText) }),
  };
}

/** The value, or the beginning of its JSON text if it is too large. */
function structuredValue(outcome: Extract<Outcome, { status: 'completed' }>, maxLength: number): object {
  const text = valueText(outcome);
  if (text === undefined) return {};
  return text.length <= maxLength ? { value: shownValue(outcome) } : { valuePart: textPart(text, 0, maxLength) };
}

function structuredError({ code, message, line, column, toolName, retryable }: ScriptError) {
  return { code, message, line, column, toolName, retryable };
}

type ScriptError = Extract<Outcome, { status: 'failed' }>['error'];

function structuredApproval({ approvalId, tool, input, rendered }: PendingApproval) {
  return { approvalId, tool, input, rendered };
}

type PendingApproval = Extract<Outcome, { status: 'suspended' }>['pendingApprovals'][number];
