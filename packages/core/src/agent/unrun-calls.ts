import { foreignMark, readForeignCalls } from '../text/foreign-calls.js';
import { CALL_FENCES } from '../text/notations.js';
import { SCRIPT_TOOL } from '../protocol/script-tool.js';
import { ToolFit } from '../text/tool-fit.js';

/** How the model of an agent makes calls. */
export type CallForm =
  | { readonly type: 'block'; readonly nonce: string | undefined }
  /** A script is the argument of a tool. */
  | { readonly type: 'tool' }
  /** Each tool is a function of its own. */
  | { readonly type: 'functions' };

interface AnswerReading {
  readonly form: CallForm;
  readonly toolNames: () => readonly string[];
  /** True: an answer that is JSON is the value that the run asked for. */
  readonly wantsJson: boolean;
}

/**
 * The advice for a model whose answer contains calls that nothing runs: calls in the notation of another system, or a
 * script outside of a block. Undefined if the text contains none. Text in a quote, a comment or another fence is not a
 * call.
 */
export function unrunCalls(text: string, reading: AnswerReading): string | undefined {
  let known: ToolFit | undefined;
  // Most answers contain nothing that looks like a call, and need no index of the tools.
  const found = find(text, reading, () => (known ??= new ToolFit(reading.toolNames())));
  return found === undefined ? undefined : advice(reading.form, found);
}

/** Calls in an answer's text. `tool`: the first known tool that they call, as a script writes it. */
interface UnrunCalls {
  readonly notation: string;
  readonly tool: string | undefined;
}

/** Maximum number of places at which calls are read. */
const MAX_READ = 8;

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w-]*)/u;
const QUOTED = /^(?: {0,3}>| {4}|\t)/u;
const BLOCK_TAG = /^ {0,3}<(tool[-_ ]?calls?)(?:\s[^<>\n]{0,100})?>/iu;
const MAY_BEGIN_CALL = /^\s*(?:\{\s*"|\[\s*[\w{]|print\(|default_api\.)/u;
const SCRIPT_FENCE = /^(?:[jt]sx?|typescript|javascript)$/iu;
const BLOCK_FENCE = /^tool[-_]?calls?$/iu;

function find(text: string, reading: AnswerReading, fit: () => ToolFit): UnrunCalls | undefined {
  let fence: { readonly mark: string; readonly info: string; readonly start: number } | undefined;
  let hasRead = 0;
  let next = 0;
  for (const line of text.split('\n')) {
    const index = next;
    next += line.length + 1;
    const opening = FENCE.exec(line);
    if (fence !== undefined) {
      if (opening === null || !opening[1]?.startsWith(fence.mark) || opening[2] !== '') continue;
      const calls = inFence(text, { ...fence, end: index, next }, reading, fit);
      if (calls !== undefined) return calls;
      fence = undefined;
    } else if (opening !== null) {
      fence = {
        mark: opening[1] ?? '',
        info: opening[2] ?? '',
        start: index + line.length,
      };
    } else if (!QUOTED.test(line) && !isInComment(text, index) && hasRead < MAX_READ) {
      if (!mayBegin(line)) continue;
      hasRead += 1;
      const calls = atLine(text.slice(index), reading, fit);
      if (calls !== undefined) return calls;
    }
  }
  if (fence === undefined) return undefined;
  return inFence(text, { ...fence, end: text.length, next: text.length }, reading, fit);
}

function mayBegin(line: string): boolean {
  return /^\s{0,3}(?:[<[]|Action:)/u.test(line) || MAY_BEGIN_CALL.test(line);
}

function isInComment(text: string, index: number): boolean {
  return text.lastIndexOf('<!--', index) > text.lastIndexOf('-->', index);
}

function atLine(rest: string, { form, wantsJson }: AnswerReading, fit: () => ToolFit): UnrunCalls | undefined {
  const tag = BLOCK_TAG.exec(rest);
  // An exact tag is a block, or lacks its nonce, or is unfinished: the detector and `missingNonce` report these.
  if (tag !== null && !(form.type === 'block' && tag[1] === 'tool-calls'))
    return { notation: tag[0].trim(), tool: firstTool(rest, fit) };
  const mark = foreignMark(rest);
  if (mark !== undefined) return { notation: mark, tool: firstTool(rest, fit) };
  const read = wantsJson ? undefined : readForeignCalls(rest);
  return read === undefined ? undefined : knownCalls(read, fit);
}

function knownCalls(
  read: NonNullable<ReturnType<typeof readForeignCalls>>,
  fit: () => ToolFit,
): UnrunCalls | undefined {
  const [first, ...others] = read.calls.map(
    ({ name }) => fit().called(name) ?? (name === SCRIPT_TOOL ? name : undefined),
  );
  return first === undefined || others.includes(undefined) ? undefined : { notation: read.notation, tool: first };
}

/** The first tool that the text calls. */
function firstTool(rest: string, fit: () => ToolFit): string | undefined {
  const [first] = readForeignCalls(rest, { mayEndEarly: true })?.calls ?? [];
  return (first === undefined ? undefined : fit().called(first.name)) ?? scriptsTool(rest, fit);
}

const TOOL_CALL = /\btools((?:\.[\w$]{1,100}){1,5})\s{0,8}\(/gu;

/** The first known tool that a script calls. */
function scriptsTool(script: string, fit: () => ToolFit): string | undefined {
  for (const [, path = ''] of script.matchAll(TOOL_CALL)) {
    const tool = fit().fitting(path.slice(1).split('.'));
    if (tool !== undefined) return tool;
  }
  return undefined;
}

interface FencedText {
  readonly info: string;
  readonly start: number;
  readonly end: number;
  readonly next: number;
}

function inFence(
  text: string,
  { info, start, end, next }: FencedText,
  { wantsJson }: AnswerReading,
  fit: () => ToolFit,
): UnrunCalls | undefined {
  const body = text.slice(start, end);
  const notation = `\`\`\`${info}`;
  if (BLOCK_FENCE.test(info)) return { notation, tool: firstTool(body, fit) };
  if (SCRIPT_FENCE.test(info)) {
    const tool = scriptsTool(body, fit);
    return tool === undefined ? undefined : { notation, tool };
  }
  if (info !== '' && !CALL_FENCES.has(info)) return undefined;
  const isEnd = text.slice(next).trim() === '';
  if (!isEnd && !info.startsWith('tool_code')) return undefined;
  const read = wantsJson ? undefined : readForeignCalls(body);
  return read === undefined ? undefined : knownCalls(read, fit);
}

/** The advice shows a call without its arguments: the text may be a quote, and its calls must not be an instruction. */
function advice(form: CallForm, { notation, tool = 'tools.NAME' }: UnrunCalls): string {
  const name = tool === SCRIPT_TOOL ? 'tools.NAME' : tool;
  const call = `return await ${name}({ … });`;
  return `Nothing ran: \`${notation}\` in an answer's text makes no call. ${howToCall(
    form,
    call,
    name,
  )} If you only quoted it, do not send it again; finish your answer.`;
}

function howToCall(form: CallForm, call: string, name: string): string {
  switch (form.type) {
    case 'block': {
      const id = form.nonce === undefined ? '' : ` id="${form.nonce}"`;
      return `To make the call, send a script in this form:\n\n<tool-calls${id}>\n${call}\n</tool-calls>\n\n`;
    }
    case 'tool':
      return `To make the call, call the tool \`${SCRIPT_TOOL}\`. Its argument \`code\` is a script: \`${call}\`.`;
    case 'functions':
      return `To make the call, call the function \`${name.replace(/^tools\./u, '')}\` itself.`;
  }
}
