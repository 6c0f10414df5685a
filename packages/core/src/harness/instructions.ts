import type { Limits } from '../protocol/index.js';
import { estimateTokens } from '../history/index.js';

export type ScriptCarrier = 'tool' | 'text';

export interface InstructionParts {
  carrier: ScriptCarrier;
  limits: Limits;
  /** Tag that holds scripts in text. */
  tag: string;
  /** The catalog at a level of detail, best first; the first that fits the budget is used. */
  catalogs: readonly { text: string; shown: number }[];
  total: number;
  tokenBudget: number;
}

/** The system text that teaches a model to write scripts. Stable for the same harness and options. */
export function writeInstructions(parts: InstructionParts): string {
  const guide = parts.carrier === 'tool' ? toolGuide() : textGuide(parts.tag);
  const head = [guide, RULES, limitsSentence(parts.limits)].join('\n\n');
  const room = parts.tokenBudget - estimateTokens(head) - 24;
  const fitting =
    parts.catalogs.find(({ text }) => estimateTokens(text) <= room) ?? cutToFit(parts.catalogs.at(-1), room);
  const note =
    fitting.shown < parts.total
      ? `\n\n${fitting.shown} of ${parts.total} tools shown; find the others with \`await catalog.search("words")\`, read one with \`await catalog.describe("name")\`.`
      : '';
  return `${head}\n\nTools:\n\n\`\`\`ts\n${fitting.text.trimEnd()}\n\`\`\`${note}\n`;
}

function toolGuide(): string {
  return 'You can act by writing TypeScript: call the tool `run_script` with `{ code }`. The script runs in a sandbox that reaches nothing but the tools below.';
}

function textGuide(tag: string): string {
  return [
    `You can act by writing TypeScript between <${tag}> and </${tag}>. The script runs in a sandbox that reaches nothing but the tools below.`,
    `Example:\n\n<${tag}>\nconst results = await Promise.all(names.map((name) => tools.example({ name })));\nreturn { count: results.length };\n</${tag}>`,
  ].join(' ');
}

const RULES = [
  'Rules for scripts:',
  '- Top-level `await` and `return` work. Return plain data; it is what you will read. Keep it small: filter and count in the script.',
  "- `await tools.NAME({ … })` calls a tool. Await every call; use `Promise.all` for calls that do not depend on each other. A name that does not exist throws; ask with `'NAME' in tools`.",
  '- A failed call throws. Catch what you can handle: `ToolExecutionError`, `ToolValidationError`, `ApprovalDeniedError`, `ApprovalTimeoutError`.',
  '- `console.log(…)` is for you, `text(…)` is shown to the user, `await sleep(ms)` waits. There are no imports, timers, network or file access besides the tools.',
  '- Some calls wait for a person. If one is denied, do not repeat it.',
  '- After a failure you get the error with its line and a table of the operations. Go on from there; do not repeat what is done.',
].join('\n');

function limitsSentence(limits: Limits): string {
  return `Limits of one script: ${limits.maxToolCalls} tool calls, ${limits.maxConcurrentToolCalls} at once; ${limits.timeoutMs / 1000} s; ${limits.maxSourceBytes} bytes of source; ${limits.maxReturnBytes} bytes returned.`;
}

function cutToFit(catalog: { text: string; shown: number } | undefined, room: number): { text: string; shown: number } {
  if (catalog === undefined) return { text: '', shown: 0 };
  const kept: string[] = [];
  let left = room;
  for (const line of catalog.text.split('\n')) {
    left -= estimateTokens(`${line}\n`);
    if (left < 0) break;
    kept.push(line);
  }
  return { text: kept.join('\n'), shown: kept.length };
}
