import { foreignMark, readForeignCalls, SCRIPT_TOOL, type ForeignCalls } from '../../text/foreign-calls.js';
import { ToolFit } from '../../text/tool-fit.js';
import type { ParseProblem } from '../syntax/parse.js';

interface ScriptOfCalls {
  readonly script: string;
  readonly message: string;
}

const MAX_SHOWN = 200;

/**
 * The script that makes the calls of a text in another notation. A problem if the text is certainly in another
 * notation, and is not a whole call of a known tool. Undefined for any other text.
 */
export function scriptOfForeignCalls(
  text: string,
  toolNames: readonly string[],
): ScriptOfCalls | ParseProblem | undefined {
  const read = readForeignCalls(text);
  if (read === undefined) {
    const mark = foreignMark(text);
    return mark === undefined ? undefined : notationProblem(mark, 'and it cannot be read', toolNames);
  }
  const { calls, notation, isMarked } = read;
  const [only, ...others] = calls;
  if (others.length === 0 && only?.name === SCRIPT_TOOL && typeof only.args['code'] === 'string')
    return {
      script: only.args['code'],
      message: `The script was taken from the call of \`${SCRIPT_TOOL}\`.`,
    };
  const fit = new ToolFit(toolNames);
  const unknown = calls.find(({ name }) => fit.called(name) === undefined);
  if (unknown !== undefined)
    return isMarked ? notationProblem(notation, `and there is no tool \`${unknown.name}\``, toolNames) : undefined;
  const script = callsScript(calls, fit);
  const shown = script.length > MAX_SHOWN ? `${script.slice(0, MAX_SHOWN)}…` : script;
  return {
    script,
    message: `The calls in the notation \`${notation}\` were read as \`${shown}\`. Write the next script in TypeScript.`,
  };
}

/** The calls one after the other, because one may have effects that the next one needs. */
function callsScript(calls: ForeignCalls['calls'], fit: ToolFit): string {
  const [only = '', ...others] = calls.map(({ name, args }) => {
    const list = Object.keys(args).length === 0 ? '' : JSON.stringify(args);
    return `await ${fit.called(name)}(${list})`;
  });
  return others.length === 0 ? `return ${only};` : `return [${[only, ...others].join(', ')}];`;
}

function notationProblem(notation: string, why: string, toolNames: readonly string[]): ParseProblem {
  return {
    code: 'ScriptSyntaxError',
    message: `This call is in the notation \`${notation}\`, ${why}. A script is TypeScript.`,
    offset: 0,
    hint: `Write \`return await tools.${toolNames[0] ?? 'NAME'}({ … });\` with the name and the arguments of a tool.`,
  };
}

const IN_TYPESCRIPT =
  'Write it in TypeScript: `const rows = await tools.NAME({ member: value });`, `for (const row of rows) { … }`, `return rows;`.';
const KEYWORDS = /^[ \t]*\w{1,80} = (?:await )?[\w.]{1,80}\(\w{1,80}=(?!=)/mu;
const PYTHON = [
  /^[ \t]*(?:async )?def \w+\(/mu,
  /^[ \t]*(?:from [\w.]{1,80} )?import [\w.]{1,80}(?:, ?[\w.]{1,80}){0,9}(?: as \w{1,80})?$/mu,
  /^[ \t]*(?:for \w{1,80}(?:, ?\w{1,80}){0,5} in |while |if |elif |with |except\b|class |else\b|try\b)[^{}\n]{0,200}:[ \t]*$/mu,
  /\bprint\(f?["']/u,
  KEYWORDS,
  /\blambda \w{0,80}:/u,
];
const SHELL =
  /^(?:\$ \S|(?:sudo|cd|ls|cat|grep|rg|git|npm|npx|curl|echo|mkdir|rm|cp|mv|sed|awk|python3?|node|pip3?|pwd|touch|chmod|docker|head|tail|find)(?: {1,8}[\w./'"$~-]|$))/u;

/** The problem of a text that is in Python, although it parses: `sum = add(a=1, b=2)`. */
export function keywordArguments(text: string): ParseProblem | undefined {
  const offset = /\b(?:const|let|var)\s|=>/u.test(text) ? -1 : text.search(KEYWORDS);
  return offset < 0 ? undefined : languageProblem('Python', offset, IN_TYPESCRIPT);
}

/** The problem of a text that does not parse because it is in Python, or consists of commands. */
export function otherLanguage(text: string): ParseProblem | undefined {
  if (/\b(?:const|let)\s|=>/u.test(text)) return undefined;
  const python = PYTHON.map((pattern) => text.search(pattern)).find((offset) => offset >= 0);
  if (python !== undefined) return languageProblem('Python', python, IN_TYPESCRIPT);
  const first = text.trimStart();
  if (!SHELL.test((first.split('\n', 1)[0] ?? '').trimEnd())) return undefined;
  return languageProblem(
    'a command line',
    text.length - first.length,
    'A script is TypeScript. If there is a tool that runs commands, call it: `return await tools.exec({ argv: ["ls", "-la"] });`.',
  );
}

function languageProblem(language: string, offset: number, hint: string): ParseProblem {
  const message = `This is ${language}, and scripts are TypeScript.`;
  return { code: 'ScriptSyntaxError', message, offset, hint };
}
