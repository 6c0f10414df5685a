import type { ModelPart, ScriptExecutionOutputItem } from '../protocol/index.js';

/** The element that wraps a result if the format has no message for results. Its text is never scanned for scripts. */
const ELEMENT = 'tool-output';

/** Wraps the parts for a message. Text that imitates the element's tags is escaped. */
export function wrapResult(callId: string, parts: readonly ModelPart[]): ModelPart[] {
  const open = `<${ELEMENT} call_id="${callId.replaceAll(/[^\w.:-]/gu, '_')}">\n`;
  const close = `\n</${ELEMENT}>`;
  const shown = parts.map((part) => (part.type === 'text' ? { ...part, text: withoutTags(part.text) } : part));
  const [first, ...others] = shown;
  if (others.length === 0 && first?.type === 'text') return [{ type: 'text', text: `${open}${first.text}${close}` }];
  return [{ type: 'text', text: open.trimEnd() }, ...shown, { type: 'text', text: close.trimStart() }];
}

function withoutTags(text: string): string {
  return text.replaceAll(/<(?=\s*(?:\/\s*)?tool-output)/giu, '<\\');
}

/** The text of a script's output for the model: its report, or else the summary in the item. */
export function scriptReport(item: ScriptExecutionOutputItem): string {
  if (item.report !== undefined) return item.report;
  const error = item.error === undefined ? [] : [`Script failed: ${item.error.code}: ${item.error.message}`];
  const waits = item.status === 'suspended' ? ['Script suspended: it waits for a decision.'] : [];
  const value = item.output_json === undefined ? [] : [item.output_json];
  return [...error, ...waits, ...value, ...(item.output ? [item.output] : [])].join('\n');
}

/** The texts of the parts, each on its own line. An image counts as an empty text. */
export function textOfParts(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

export function hasImages(parts: readonly ModelPart[]): boolean {
  return parts.some(({ type }) => type === 'image');
}
