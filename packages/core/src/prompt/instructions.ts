import { ToolscriptUsageError, type Limits, type Tool } from '../protocol/index.js';
import { writePromptCatalog, type PromptCatalog } from './catalog.js';
import { estimatePromptTokens } from './tokens.js';

/** `custom`: a tool that takes raw text, no JSON. */
export type ScriptCarrier = 'tool' | 'custom' | 'text';

export interface InstructionParts {
  carrier: ScriptCarrier;
  /** Of scripts in text; undefined: nothing is said about it. */
  afterScript: 'stop' | 'continue' | undefined;
  limits: Limits;
  /** Tag that holds scripts in text. */
  tag: string;
  tools: readonly Tool[];
  /** `tools.spawn` exists. */
  spawn: boolean;
  /** Most tokens of the whole text, estimated on the high side. */
  tokenBudget: number;
}

/**
 * The system text that teaches a model to write scripts, with as much of the tools as the budget holds. The
 * same parts give the same bytes. Throws a `ToolscriptUsageError` where not even the first sentence has room.
 */
export function writeInstructions(parts: InstructionParts): string {
  const { tools, tokenBudget } = parts;
  const head = headFor(parts);
  const room = tokenBudget - estimatePromptTokens(head) - estimatePromptTokens(section('', noteOn(LONGEST_NOTE)));
  const catalog = tools.length === 0 ? EMPTY : writePromptCatalog(tools, room);
  if (catalog.text !== '' || tools.length === 0)
    return head + section(catalog.text, noteOn({ ...catalog, total: tools.length }));
  const bare = `${head}\n\n${tools.length} tools; \`await catalog.search("words")\` finds them.\n`;
  return estimatePromptTokens(bare) <= tokenBudget ? bare : head;
}

const EMPTY: PromptCatalog = { text: 'interface Tools {}', shown: 0, byName: 0 };
/** The most that the rules may take of a budget; with less room they are short, or left out. */
const HEAD_SHARE = 0.5;

function headFor({ carrier, afterScript, limits, tag, spawn, tokenBudget }: InstructionParts): string {
  const guide = carrier === 'text' ? textGuide(tag, afterScript) : carrier === 'custom' ? CUSTOM_GUIDE : TOOL_GUIDE;
  const example = carrier === 'text' ? [textExample(tag)] : [];
  const heads = [
    [[guide, ...example].join(' '), spawn ? `${RULES}\n${SPAWN_RULE}` : RULES, limitsSentence(limits)].join('\n\n'),
    `${guide}\n\n${SHORT_RULES}`,
    guide,
  ];
  const fitting = heads.find((head) => estimatePromptTokens(head) <= tokenBudget * HEAD_SHARE);
  if (fitting !== undefined) return fitting;
  const least = estimatePromptTokens(guide);
  if (least <= tokenBudget) return guide;
  throw new ToolscriptUsageError(
    `instructions: a tokenBudget of ${tokenBudget} holds no text; give at least ${Math.ceil(least)}.`,
  );
}

const REACH = 'It runs in a sandbox that reaches nothing but the tools below.';

const TOOL_GUIDE = `You can act by writing TypeScript: call the tool \`run_script\` with \`{ code }\`. ${REACH}`;

const CUSTOM_GUIDE = `You can act by writing TypeScript: call the tool \`run_script\` with the script itself as its input, no JSON around it. ${REACH}`;

function textGuide(tag: string, afterScript: InstructionParts['afterScript']): string {
  const guide = `You can act by writing TypeScript between <${tag}> and </${tag}>. ${REACH}`;
  return afterScript === undefined ? guide : `${guide} ${RESULT_IN_TEXT} ${BEHIND_SCRIPT[afterScript]}`;
}

const RESULT_IN_TEXT = 'Its result comes in the next message, inside `<tool-output>`.';

const BEHIND_SCRIPT = {
  stop: 'Your answer ends behind it.',
  continue: 'What you write behind it is written before there is a result: do not guess it.',
} as const;

function textExample(tag: string): string {
  return `Example:\n\n<${tag}>\nconst results = await Promise.all(names.map((name) => tools.example({ name })));\nreturn { count: results.length };\n</${tag}>`;
}

const RULES = [
  '- Top-level `await` and `return` work. Return small plain data, which you will read: filter and count in the script.',
  "- `await tools.NAME({ … })` calls a tool; `Promise.all` makes independent calls at once. `'NAME' in tools` tells whether it exists.",
  '- A failed call throws `ToolExecutionError`, `ToolValidationError`, `ApprovalDeniedError` or `ApprovalTimeoutError`. Do not repeat a call that a person denied.',
  '- `console.log(…)` is for you, `text(…)` for the user, `await sleep(ms)` waits. There are no imports, network or files besides the tools.',
  '- After a failure you get the error with its line and the operations. Go on from there; do not repeat what is done.',
].join('\n');

const SPAWN_RULE =
  "- `tools.spawn.exec('NAME', { … })` starts a call that goes on after the script and gives `{ id, done }`. Later scripts find it with `await tools.spawn.list()`, `read(id)`, `wait(id)` and `cancel(id)`.";

const SHORT_RULES =
  'Top-level `await` and `return` work; return small plain data. `await tools.NAME({ … })` calls a tool, and a failed call throws. There are no imports, network or files.';

function limitsSentence(limits: Limits): string {
  return `One script: ${limits.maxToolCalls} tool calls, ${limits.maxConcurrentToolCalls} at once; ${limits.timeoutMs / 1000} s; ${limits.maxSourceBytes} bytes of source; ${limits.maxReturnBytes} bytes returned.`;
}

function section(catalog: string, note: string): string {
  return `\n\nTools:\n\n\`\`\`ts\n${catalog.trimEnd()}\n\`\`\`\n${note}`;
}

type ShownTools = Pick<PromptCatalog, 'shown' | 'byName'> & { total: number };

/** For weighing: no note is longer. */
const LONGEST_NOTE: ShownTools = { shown: 999_998, byName: 999_998, total: 999_999 };

function noteOn({ shown, byName, total }: ShownTools): string {
  if (shown === total && byName === 0) return '';
  const most = byName < shown ? `, ${byName} of them` : '';
  const names = byName === 0 ? '' : `${most} by name only, as comments`;
  const search =
    shown === total ? '' : 'find others with `await catalog.search("words")` or `catalog.list("namespace")`; ';
  return `\n${shown} of ${total} tools shown${names}; ${search}read one with \`await catalog.describe("name")\`, the name as after \`tools.\`\n`;
}
