import { estimateTokens } from '../history/index.js';
import type { EventPayload, ModelRequest, OutputItem, Usage } from '../protocol/index.js';

/*
 * Estimates the usage of an answer whose provider did not report all of it: the connection broke, or the provider
 * never reports usage. A budget depends on the estimate, so it is too high rather than too low: text counts at twice
 * the usual estimate until the provider has counted an input itself.
 */

/** The factor over the plain estimate. Code, tables and data need up to this many tokens for each estimated one. */
export const ESTIMATE_MARGIN = 2;

/** Tokens that providers add to a message, a call or a tool. */
const PER_ITEM = 40;

/** Tokens that providers add to a request with tools. */
const WITH_TOOLS = 600;

/** Tokens of an image. */
const PER_IMAGE = 1600;

/** The output of an answer, and whether its provider ended it. */
export class SaidText {
  readonly #texts = new Map<string, string>();
  #isWhole = false;

  take(payload: EventPayload): void {
    if (payload.type === 'item_start') this.#texts.set(payload.item_id, '');
    else if (payload.type === 'item_delta')
      this.#texts.set(payload.item_id, (this.#texts.get(payload.item_id) ?? '') + payload.delta);
    else if (payload.type === 'item_done') this.#takeItem(payload.item_id, shownText(payload.final_item));
    else if (payload.type === 'response_done')
      this.#isWhole = payload.status === 'completed' || payload.status === 'incomplete';
  }

  /** The deltas of an item may be missing. */
  #takeItem(id: string, text: string): void {
    if (text.length > (this.#texts.get(id) ?? '').length) this.#texts.set(id, text);
  }

  get text(): string {
    return [...this.#texts.values()].join('');
  }

  get items(): number {
    return this.#texts.size;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }
}

/** The usage with estimates for the unknown figures. Figures that the provider has reported so far are minimums. */
export function estimateUsage(
  input: number,
  said: SaidText,
  { input_tokens = 0, output_tokens = 0, total_tokens, ...others }: Partial<Usage> = {},
): Usage {
  const beside = Math.max(0, (total_tokens ?? 0) - input_tokens - output_tokens);
  const written = estimateTokens(said.text) * ESTIMATE_MARGIN + said.items * PER_ITEM;
  // The provider's input count is exact: the provider counted it before the answer began.
  const sent = input_tokens > 0 || beside > 0 ? input_tokens : input;
  const output = Math.max(output_tokens, written);
  const { native: _native, ...figures } = others;
  return {
    ...figures,
    input_tokens: sent,
    output_tokens: output,
    total_tokens: sent + output + beside,
    estimated: true,
  };
}

/** Tokens of a request, without the margin. */
export function estimateRequest({ system = '', tools = [], conversation }: ModelRequest): number {
  const shown = conversation.map(shownText).join('\n');
  const images = conversation.reduce((count, item) => count + imagesIn(item), 0);
  const text = estimateTokens(system) + estimateTokens(shown) + (tools.length > 0 ? toolTokens(tools) : 0);
  return text + conversation.length * PER_ITEM + images * PER_IMAGE;
}

function toolTokens(tools: NonNullable<ModelRequest['tools']>): number {
  return WITH_TOOLS + tools.length * PER_ITEM + estimateTokens(JSON.stringify(tools));
}

function imagesIn(item: OutputItem): number {
  return JSON.stringify(item).split('"type":"image"').length - 1;
}

/** The approximate text of an item that the model reads. */
export function shownText(item: OutputItem): string {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return item.content;
    case 'function_call':
      return item.arguments;
    case 'function_call_output':
      return item.read_by === undefined ? item.output : '';
    case 'hosted_code':
      return item.source_code;
    case 'hosted_code_output':
      return item.output;
    case 'script_execution':
      return item.format === 'tool' ? '' : item.source_code;
    case 'script_execution_output':
      return item.report ?? item.output_json ?? '';
    default:
      return '';
  }
}
