import { present } from '../protocol/json.js';
import { toSnakeCase } from '../protocol/spelling.js';
import type {
  FunctionCallOutputItem,
  Operation,
  Outcome,
  RunningOutcome,
  ScriptExecutionOutputItem,
} from '../protocol/index.js';
import { boundedJson, cutMiddle, QUARTERS_PER_TOKEN } from './bounded-text.js';
import { collectImages, imageHolders, imageLines, withoutImageData } from './images.js';

/**
 * Maximum length of a failure's `output_json`, in UTF-16 units. `operations` also contains the results that this text
 * omits.
 */
const MAX_PARTIAL_RESULTS_LENGTH = 131_072;

export interface OutputItemIdentity {
  id: string;
  /** The `call_id` of the `script_execution`, or of the call, that produced the output. */
  callId: string;
}

/**
 * The item of a script's outcome. Its fields are snake_case; the data of scripts and tools is unchanged. Images are
 * also listed as references. The suspension is not included: it belongs to the harness, and events report its
 * approvals.
 */
export function outcomeToOutputItem(
  outcome: Exclude<Outcome, RunningOutcome>,
  { id, callId }: OutputItemIdentity,
): ScriptExecutionOutputItem {
  return {
    type: 'script_execution_output',
    id,
    call_id: callId,
    script_id: outcome.scriptId,
    status: outcome.status,
    ...resultMembers(outcome),
    output: outcome.output,
    logs: outcome.logs.map(toSnakeCase),
    operations: outcome.operations.map(toSnakeCase),
    ...imageMembers(imageHolders(outcome)),
    diagnostics: outcome.diagnostics.map(toSnakeCase),
    ...present({
      untrusted: outcome.untrusted,
      heap: outcome.heap,
      scope: outcome.scope?.map(({ name, type }) => ({ name, type })),
      found: outcome.found && [...outcome.found],
    }),
    metadata: toSnakeCase(outcome.metadata),
  };
}

interface OperationReading {
  tokenBudget?: number | undefined;
  /** The `call_id` of the hosted code that reads the result instead of the model. */
  reader?: string | undefined;
}

/**
 * The item of a structured call: the text for the model, within `tokenBudget` by estimate, and its images. If hosted
 * code of the provider reads the result, the text is the JSON of the result.
 */
export function operationToOutputItem(
  operation: Operation,
  { id, callId }: OutputItemIdentity,
  { tokenBudget = Infinity, reader }: OperationReading = {},
): FunctionCallOutputItem {
  const common = {
    type: 'function_call_output',
    id,
    call_id: callId,
    success: operation.status === 'completed',
    ...present({ untrusted: operation.untrusted }),
  } as const;
  const problem = operationProblem(operation);
  if (reader !== undefined) return { ...common, output: problem ?? resultJson(operation.result), read_by: reader };
  return {
    ...common,
    output: cutMiddle(problem ?? modelText(operation.result), tokenBudget * QUARTERS_PER_TOKEN),
    ...imageMembers([operation.result]),
  };
}

/** The reason why an operation has no result to show. */
function operationProblem({ resultOmitted, error, status }: Operation): string | undefined {
  if (error !== undefined) return `${error.code}: ${error.message}`;
  if (status !== 'completed') return `The call has no result. Its status is "${status.replaceAll('_', ' ')}".`;
  return resultOmitted === true
    ? 'The call completed, but its result was too large. Request less data in one call.'
    : undefined;
}

function modelText(result: unknown): string {
  return [resultContent(result) ?? resultJson(result), ...imageLines(collectImages([result]))].join('\n');
}

function resultJson(result: unknown): string {
  return JSON.stringify(withoutImageData(result, [result])) ?? 'null';
}

/** The text for the model, if the result contains one besides its data: `{ success: true, content, … }`. */
function resultContent(result: unknown): string | undefined {
  const { success, content } = (result ?? {}) as { success?: unknown; content?: unknown };
  return success === true && typeof content === 'string' ? content : undefined;
}

function imageMembers(holders: readonly unknown[]): Pick<ScriptExecutionOutputItem, 'images'> {
  const { images } = collectImages(holders);
  return images.length === 0 ? {} : { images: [...images] };
}

function resultMembers(outcome: Exclude<Outcome, RunningOutcome>): Partial<ScriptExecutionOutputItem> {
  switch (outcome.status) {
    case 'completed':
      return {
        result: outcome.value ?? null,
        output_json: JSON.stringify(outcome.value) ?? 'null',
        ...present({ summary: messageSummary(outcome.value) }),
      };
    case 'failed':
      return { output_json: partialResultsJson(outcome.operations), error: toSnakeCase(outcome.error) };
    case 'suspended':
      return {};
  }
}

function messageSummary(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'message')) return undefined;
  const { message } = value as { message: unknown };
  return typeof message === 'string' ? message : undefined;
}

/** `{"partialResults":[{tool, call_id, result}]}` of the completed operations, in call order. */
function partialResultsJson(operations: readonly Operation[]): string {
  const completed = operations.filter((operation) => operation.status === 'completed');
  const entries: string[] = [];
  let room = MAX_PARTIAL_RESULTS_LENGTH - '{"partialResults":[],"omitted":999999}'.length;
  for (const operation of completed) {
    const entry = partialResultJson(operation, room);
    if (entry.length + 1 > room) break;
    room -= entry.length + 1;
    entries.push(entry);
  }
  const omitted = completed.length - entries.length;
  return `{"partialResults":[${entries.join(',')}]${omitted > 0 ? `,"omitted":${omitted}` : ''}}`;
}

/** One completed call. A result that does not fit is replaced by `"result_omitted":true`. */
function partialResultJson({ tool, callId, result, resultOmitted }: Operation, room: number): string {
  const head = JSON.stringify({ tool, call_id: callId }).slice(0, -1);
  const { text, complete } = boundedJson(result, Math.max(0, room - head.length - '"result":,}'.length - 1));
  return resultOmitted || !complete ? `${head},"result_omitted":true}` : `${head},"result":${text}}`;
}
