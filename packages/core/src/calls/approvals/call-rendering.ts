import type { JsonValue } from '../../protocol/json.js';
import type { GateCall } from '../../protocol/approval-gate.js';
import { callScope } from '../../protocol/run-context.js';
import type { ToolEffect } from '../../protocol/tools.js';
import { renderForPerson } from './render.js';

const DEFAULT_MAX_LENGTH = 4_000;
const PREVIEW_TIMEOUT_MS = 5_000;
const MAX_ARGUMENTS_SHOWN = 30;

const EFFECT_TEXTS: Readonly<Record<ToolEffect, string>> = {
  read: 'reads only',
  write: 'changes data',
  external: 'has external effects',
};

const REPEATED =
  '\nWarning: the script of this call stands word for word in a text that the conversation has read. Approve only if you want what that text does.';

type RenderedCall = Pick<GateCall, 'tool' | 'input' | 'signal' | 'context'>;

/**
 * The text that a deciding user reads: the tool, its kind of effect, and the arguments or the tool's own preview of
 * them. The arguments replace a preview that fails or takes too long. Never rejects.
 */
export async function renderCall(call: RenderedCall): Promise<string> {
  const { tool, input } = call;
  const { previewLength: maxLength = DEFAULT_MAX_LENGTH } = tool;
  const heading = `${tool.name} (${EFFECT_TEXTS[tool.effect]})${call.context.repeatsReadText ? REPEATED : ''}`;
  const preview = tool.preview === undefined ? undefined : await callPreview(call);
  return `${heading}\n${preview === undefined ? renderArguments(input, maxLength) : renderForPerson(preview, { maxLength })}`;
}

/**
 * Writes each argument on a line of its own, up to `MAX_ARGUMENTS_SHOWN`. The further lines of a long argument are
 * indented more, so no argument can produce a line that looks like another argument.
 */
function renderArguments(input: JsonValue, maxLength: number): string {
  const members = typeof input === 'object' && input !== null ? Object.entries(input) : [];
  if (members.length === 0) return 'no arguments';
  const shown = members.slice(0, MAX_ARGUMENTS_SHOWN);
  const room = Math.max(200, Math.floor(maxLength / shown.length));
  const lines = shown.map(([key, value]) => {
    const name = renderForPerson(key, { maxLength: 100 });
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `  ${indentLines(`${name}: ${renderForPerson(text ?? '', { maxLength: room })}`)}`;
  });
  const left = members.length - shown.length;
  if (left > 0) lines.push(`  [… ${left} more arguments …]`);
  return lines.join('\n');
}

function indentLines(text: string): string {
  // defence: lines-of-arguments-are-indented
  return text.replaceAll('\n', '\n    ');
}

async function callPreview({ tool, input, signal, context }: RenderedCall): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const givenUp = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, PREVIEW_TIMEOUT_MS, undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    const preview: unknown = await Promise.race([tool.preview?.(input as never, callScope(context)), givenUp]);
    return typeof preview === 'string' ? preview : undefined;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
