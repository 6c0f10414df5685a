import type { ApprovalRequest, OutputItem } from '../protocol/index.js';

/** The facts at the beginning of the document. */
export interface ThreadHead {
  readonly title: string;
  /** The time at which the thread was created, in ms since 1970. */
  readonly createdAt: number;
  readonly workspace?: string | undefined;
}

/** A call that waits for a decision. */
type WaitingCall = Pick<ApprovalRequest, 'tool' | 'callId' | 'inputJson'> & { readonly scriptId?: string | undefined };

/**
 * A conversation as a Markdown document. `waiting`: its calls that wait for a decision. Texts of models stay Markdown.
 */
export function threadMarkdown(
  { title, workspace = '', createdAt }: ThreadHead,
  items: readonly OutputItem[],
  waiting: readonly WaitingCall[] = [],
): string {
  const about = [new Date(createdAt).toISOString().slice(0, 10), workspace].filter((part) => part !== '').join(' · ');
  const blocks = [`# ${onOneLine(title)}`, about];
  let speaker: string | undefined;
  const scripts = new Set(items.flatMap((item) => (item.type === 'script_execution' ? [item.call_id] : [])));
  for (const item of items) {
    // A call with which the model sent a script is omitted: the script's own item shows the same source.
    const block = item.type === 'function_call' && scripts.has(item.call_id) ? undefined : itemMarkdown(item);
    if (block === undefined) continue;
    const said = itemSpeaker(item);
    if (said !== speaker) blocks.push(`## ${said}`);
    speaker = said;
    blocks.push(block, ...waitingBlocks(item, waiting));
  }
  return `${blocks.join('\n\n')}\n`;
}

/** The Markdown of the waiting calls of a script, or of a function call that waits itself. */
function waitingBlocks(item: OutputItem, waiting: readonly WaitingCall[]): string[] {
  const calls = waiting.filter(({ scriptId, callId }) => {
    if (item.type === 'script_execution') return scriptId === item.script_id;
    return item.type === 'function_call' && callId === item.call_id;
  });
  return calls.map(
    ({ tool, scriptId, inputJson }) =>
      `Waits for a decision about \`${tool}\`${scriptId === undefined ? '' : ` (script \`${scriptId}\`)`}:\n\n${fencedCode(inputJson, 'json')}`,
  );
}

function itemSpeaker(item: OutputItem): string {
  if (item.type !== 'message') return 'Assistant';
  return { user: 'You', system: 'Instructions', assistant: 'Assistant' }[item.role];
}

/** The Markdown of an item; undefined if there is nothing to show. */
function itemMarkdown(item: OutputItem): string | undefined {
  switch (item.type) {
    case 'message':
      return item.content.trim() === '' ? undefined : item.content.trim();
    case 'function_call':
      return `Calls ${item.name}:\n\n${fencedCode(item.arguments, 'json')}`;
    case 'function_call_output':
      return `Result:\n\n${fencedCode(item.output)}`;
    case 'script_execution':
      return fencedCode(item.source_code, item.language);
    case 'script_execution_output':
      return item.stands_in === true ? undefined : resultBlock(item);
    case 'hosted_code':
      return `The provider runs:\n\n${fencedCode(item.source_code, item.language)}`;
    case 'hosted_code_output':
      return `The provider's code ${item.success ? 'completed' : 'failed'}:\n\n${fencedCode(item.output)}`;
    case 'plan':
      return item.steps
        .map(({ step, status }) => `- [${status === 'completed' ? 'x' : ' '}] ${onOneLine(step)}`)
        .join('\n');
    case 'compaction':
      return `Summary of the earlier conversation:\n\n${item.summary.trim()}`;
    case 'error':
      return `Error ${item.code}: ${item.message}`;
    case 'reasoning':
      return undefined;
  }
}

function resultBlock(item: Extract<OutputItem, { type: 'script_execution_output' }>): string {
  const text = [item.output, item.error === undefined ? undefined : `${item.error.code}: ${item.error.message}`]
    .concat(item.status === 'completed' ? [item.output_json] : [])
    .filter((part) => part !== undefined && part !== '')
    .join('\n');
  return text === '' ? `The script ${item.status}.` : `The script ${item.status}:\n\n${fencedCode(text)}`;
}

/** A code block whose fence the text cannot close. */
function fencedCode(text: string, language = ''): string {
  const ticks = Math.max(2, ...(text.match(/`+/gu) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(ticks + 1);
  return `${fence}${language}\n${text.replace(/\n$/u, '')}\n${fence}`;
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}
