import { codeOfCall, type FunctionCallItem, type HostedCodeItem, type OutputItem } from '../protocol/index.js';
import { wireMembers, wireName } from './wire-values.js';

/** Maximum length of the excerpt of one result, in characters. */
const MAX_EXCERPT = 2000;

/**
 * Returns the conversation with a report in place of lost hosted code, its calls and their results. A service that
 * finds a call of lost code refuses the request, or waits for results.
 */
export function withoutLostCode(
  conversation: readonly OutputItem[],
  lost: readonly HostedCodeItem[],
): readonly OutputItem[] {
  if (lost.length === 0) return conversation;
  const codes = new Map(lost.map((code) => [code.call_id, new LostCode(code)]));
  const kept = conversation.map((item): OutputItem | LostCode => {
    const code = [...codes.values()].find((candidate) => candidate.takes(item));
    return code ?? item;
  });
  return kept.flatMap((item, index) => {
    if (!(item instanceof LostCode)) return [item];
    return kept.lastIndexOf(item) === index ? [item.report()] : [];
  });
}

class LostCode {
  readonly #code: HostedCodeItem;
  /** Ids of the code, of its calls, and of its calls to the provider's own tools. */
  readonly #ids: Set<string>;
  readonly #lines: string[] = [];

  constructor(code: HostedCodeItem) {
    this.#code = code;
    this.#ids = new Set([code.call_id]);
  }

  /**
   * Returns whether the item is the code, one of its calls, or the result of one of its calls. Such an item is added to
   * the report.
   */
  takes(item: OutputItem): boolean {
    switch (item.type) {
      case 'hosted_code':
        return item === this.#code;
      case 'function_call':
        return this.#takesCall(item);
      case 'function_call_output':
        if (!this.#ids.has(item.call_id)) return false;
        this.#lines.push(`${item.success ? 'Result' : 'Failure'}: ${excerpt(item.output)}`);
        return true;
      case 'reasoning':
        return this.#takesNative(wireMembers(item.native));
      default:
        return false;
    }
  }

  report(): OutputItem {
    const { id, call_id, source_code } = this.#code;
    const output = [
      'This code did not finish and cannot be resumed. Calls with a result have taken effect: do not repeat them.',
      source_code,
      ...this.#lines,
    ].join('\n\n');
    return { type: 'function_call_output', id, call_id, output, success: false };
  }

  #takesCall(call: FunctionCallItem): boolean {
    if (codeOfCall(call) !== this.#code.call_id) return false;
    this.#ids.add(call.call_id);
    this.#lines.push(`Call: ${call.name}(${excerpt(call.arguments)})`);
    return true;
  }

  /** Whether the native item is a call of the code to a tool of the provider, or the result of such a call. */
  #takesNative({ id, caller, tool_use_id: resultOf }: ReturnType<typeof wireMembers>): boolean {
    if (this.#ids.has(wireName(resultOf) ?? '')) return true;
    const { tool_id, caller_id } = wireMembers(caller);
    if (wireName(tool_id ?? caller_id) !== this.#code.call_id) return false;
    this.#ids.add(wireName(id) ?? '');
    return true;
  }
}

function excerpt(text: string): string {
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text;
}
