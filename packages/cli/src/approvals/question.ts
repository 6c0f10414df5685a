import { renderForPerson } from '@toolscript/core';
import type { ApprovalRequest } from '@toolscript/core/protocol';
import { indent } from '../terminal/indent.js';
import type { Style } from '../terminal/style.js';

export type Answer = 'yes' | 'no' | 'always' | 'view' | 'help' | 'interrupt' | 'unclear';

const KEYS: Readonly<Record<string, Answer>> = {
  y: 'yes',
  yes: 'yes',
  n: 'no',
  no: 'no',
  '': 'no',
  a: 'always',
  v: 'view',
  '?': 'help',
  h: 'help',
};

const CTRL_C = '\x03';
const CTRL_D = '\x04';

/** What was pressed, or pasted; undefined for keys that say nothing (arrows and their like). */
export function readAnswer(keys: string): Answer | undefined {
  if (keys.includes(CTRL_C)) return 'interrupt';
  if (keys.startsWith('\x1b')) return keys === '\x1b' ? 'no' : undefined;
  const word = keys.replaceAll(CTRL_D, '').trim().toLowerCase();
  return KEYS[word] ?? 'unclear';
}

/** Who wants what and why, for the person who decides. Every text in it is made safe. */
export function questionText(request: ApprovalRequest, style: Style): string {
  const place = request.line === undefined ? '' : ` (line ${request.line} of the script)`;
  return [
    '',
    `${style.yellow('?')} ${style.bold(`${safe(request.tool)} needs your approval`)}${place}`,
    ...(request.snippet === undefined ? [] : [style.dim(`    ${indent(safe(request.snippet))}`)]),
    ...(request.context === undefined ? [] : [`  the script says: ${indent(safe(request.context))}`]),
    // The library has made `rendered` safe already; a second time would escape its own marks.
    `  ${indent(request.rendered)}`,
    '',
  ].join('\n');
}

export function promptText(style: Style): string {
  return `  ${style.bold('Allow it?')} [y]es, [N]o, [a]lways this tool, [v]iew, [?] `;
}

/** Everything of the arguments, nothing cut. */
export function wholeArguments({ inputJson }: ApprovalRequest): string {
  const json = JSON.stringify(JSON.parse(inputJson), undefined, 2);
  return json
    .split('\n')
    .map((line) => `    ${renderForPerson(line, { maxLength: Number.MAX_SAFE_INTEGER })}\n`)
    .join('');
}

export const HELP = [
  '  y  run this call',
  '  n  refuse it; Enter does the same',
  '  a  run this call and every further one of this tool, until the script ends',
  '  v  show the whole arguments',
  '  Ctrl-C  stop the script',
  '',
].join('\n');

function safe(text: string): string {
  return renderForPerson(text, { maxLength: 400 });
}
