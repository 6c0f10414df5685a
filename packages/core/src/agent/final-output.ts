import type { ProviderFailure } from '../answer/index.js';
import type { ModelProvider, ModelRequest, OutputItem } from '../protocol/index.js';
import { enforcedSchema } from '../protocol/output-schema.js';
import { newId } from '../text/crypto.js';
import { answerSchema, type AnswerSchema } from './answer-schema.js';
import { FinalText } from './final-text.js';

/** An answer with a value, or the failure or the problem that it has instead. */
export interface ReadOutput {
  readonly value?: unknown;
  readonly problem?: string | undefined;
  readonly failure?: ProviderFailure | undefined;
}

/** The JSON value with which a model must answer. */
export class FinalOutput {
  readonly #schema: AnswerSchema;
  /** The schema that the requests contain; undefined if the model cannot enforce it. */
  readonly requested: ModelRequest['outputSchema'];

  /** `mayEnforce`: false if an answer may contain more than the value, such as a script. */
  constructor(schema: unknown, provider: ModelProvider, mayEnforce = true) {
    this.#schema = answerSchema(schema);
    const isEnforced = mayEnforce && enforcedSchema(provider.api, provider.model, schema) !== undefined;
    this.requested = isEnforced ? this.#schema.schema : undefined;
  }

  /** The text that asks for the value, if the requests do not. */
  get instruction(): string | undefined {
    return this.requested === undefined ? this.#schema.request : undefined;
  }

  repair(problem: string): string {
    return this.#schema.repair(problem);
  }

  /** Reads the value of the last answer. `reason`: why the answer ended early. */
  read(items: readonly OutputItem[], reason: string | undefined): ReadOutput {
    const final = new FinalText();
    for (const item of items) final.take(item);
    const failure = outputFailure(reason, final.refusal);
    if (failure !== undefined) return { failure };
    const whole = this.check(final.text);
    const last = whole.problem === undefined ? whole : this.check(final.lastMessage);
    return last.problem === undefined ? last : whole;
  }

  check(text: string): ReadOutput {
    const checked = this.#schema.check(text);
    return checked.ok ? { value: checked.value } : { problem: checked.problem };
  }
}

const OUTPUTS: readonly string[] = ['script_execution_output', 'function_call_output'];

/** The value that the last script since the last prompt returned, as JSON. Undefined if it returned none, or null. */
export function scriptValue(items: readonly OutputItem[]): string | undefined {
  const prompt = items.findLastIndex(({ type, role }) => type === 'message' && role === 'user');
  const last = items.slice(prompt + 1).findLast(({ type }) => OUTPUTS.includes(type));
  if (last?.type !== 'script_execution_output' || last.status !== 'completed') return undefined;
  return last.output_json === 'null' ? undefined : last.output_json;
}

/** The failure of an answer whose value is still wrong after the repair. */
export function invalidOutput(problem: string): ProviderFailure {
  const message = `The final answer does not fit the JSON Schema, even after one repair: ${problem}. Make the schema simpler, or use a stronger model.`;
  return { code: 'OutputInvalid', message };
}

function outputFailure(reason: string | undefined, refusal: string | undefined): ProviderFailure | undefined {
  if (reason === 'max_output_tokens' || reason === 'context_window')
    return {
      code: 'OutputTruncated',
      message: `The final answer was truncated (${reason}), so it is no whole JSON value. Raise maxOutputTokens, or ask for less.`,
    };
  if (refusal === undefined && reason !== 'refusal' && reason !== 'content_filter') return undefined;
  const words = refusal === undefined || refusal.trim() === '' ? reason : refusal.trim();
  return {
    code: 'OutputRefused',
    message: `The model refused to answer: ${words}. Change the prompt, or use another model.`,
  };
}

/** A message to the model that the user did not write. */
export function systemMessage(content: string): OutputItem {
  return { type: 'message', id: newId('item'), role: 'system', content };
}
