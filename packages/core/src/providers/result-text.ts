import type { ModelPart, ScriptExecutionOutputItem } from '../protocol/index.js';

/** The element that holds a result where there is no message for results. Text in it is never scanned for scripts. */
const ELEMENT = 'tool-output';

/** The parts as a message holds them. A text in them that looks like the element's tags is made to look otherwise. */
export function wrapResult(callId: string, parts: readonly ModelPart[]): ModelPart[] {
  const open = `<${ELEMENT} call_id="${callId.replaceAll(/[^\w.:-]/gu, '_')}">\n`;
  const close = `\n</${ELEMENT}>`;
  const shown = parts.map((part) => (part.type === 'text' ? { ...part, text: withoutTags(part.text) } : part));
  const [first, ...others] = shown;
  if (others.length === 0 && first?.type === 'text') return [{ type: 'text', text: `${open}${first.text}${close}` }];
  return [{ type: 'text', text: open.trimEnd() }, ...shown, { type: 'text', text: close.trimStart() }];
}

function withoutTags(text: string): string {
  return text.replaceAll(/<(?=\s*\/?\s*tool-output)/giu, '<\\');
}

/** What a model reads of a script's output: its report, or the little that the item says by itself. */
export function reportOf(item: ScriptExecutionOutputItem): string {
  if (item.report !== undefined) return item.report;
  const error = item.error === undefined ? [] : [`Script failed: ${item.error.code}: ${item.error.message}`];
  const waits = item.status === 'suspended' ? ['Script suspended: it waits for a decision.'] : [];
  const value = item.output_json === undefined ? [] : [item.output_json];
  return [...error, ...waits, ...value, ...(item.output ? [item.output] : [])].join('\n');
}

/** Text parts that follow each other, as one. */
export function textOfParts(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

export function hasImages(parts: readonly ModelPart[]): boolean {
  return parts.some(({ type }) => type === 'image');
}
