import { renderForPerson } from '@toolscript/core/internal';
import { provenanceLines } from '@toolscript/core/history';
import type { ApprovalRequest } from '@toolscript/core/protocol';
import { indent } from '../terminal/indent.js';
import type { Style } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { textWidth } from '../terminal/width.js';
import { colouredDiff, plannedCallLine } from '../view/script-report.js';
import { countWithNoun } from '../view/values.js';

export type Answer =
  | 'yes'
  | 'no'
  | 'always'
  | 'workspace'
  | 'broader'
  | 'session'
  | 'plan'
  | 'edit'
  | 'suspend'
  | 'view'
  | 'help'
  | 'mode'
  | 'interrupt'
  | 'unclear';

const KEYS: Readonly<Record<string, Answer>> = {
  y: 'yes',
  yes: 'yes',
  n: 'no',
  no: 'no',
  '': 'no',
  a: 'always',
  w: 'workspace',
  b: 'broader',
  p: 'plan',
  e: 'edit',
  s: 'session',
  l: 'suspend',
  v: 'view',
  '?': 'help',
  h: 'help',
};

/** The keys of the rules for the workspace, the narrowest first. */
const RULE_KEYS = ['w', 'b'];

/** The maximum number of lines of a call's text, such as a diff, before the question. `v` shows all of them. */
const MAX_TEXT_LINES = 40;

export const CTRL_C = '\x03';
const SHIFT_TAB = '\x1b[Z';
const CTRL_D = '\x04';

/** The answer that the pressed or pasted text means; undefined for keys without text, such as arrows. */
export function readAnswer(keys: string): Answer | undefined {
  if (keys.includes(CTRL_C)) return 'interrupt';
  if (keys === SHIFT_TAB) return 'mode';
  if (keys.startsWith('\x1b')) return keys === '\x1b' ? 'no' : undefined;
  const word = keys.replaceAll(CTRL_D, '').trim().toLowerCase();
  return KEYS[word] ?? 'unclear';
}

/** The answers that are possible only for some calls. */
export interface Choices {
  /**
   * The calls that "always allow" would cover in this workspace: those of the narrowest rule, then those of a broader
   * one, if any.
   */
  covers: readonly string[];
  /** True if the plan of the script has calls with known arguments. */
  plan: boolean;
}

/** The call and its context, for the user who decides. All text is escaped. */
export function questionText(request: ApprovalRequest, style: Style): string {
  const lines = request.rendered.split('\n');
  const more = lines.length - MAX_TEXT_LINES;
  const shown = more > 0 ? { ...request, rendered: lines.slice(0, MAX_TEXT_LINES).join('\n') } : request;
  const rest = more > 0 ? [style.dim(`  … ${countWithNoun(more, 'more line')}: [v] shows all`)] : [];
  return ['', questionHead(request, style), ...requestLines(shown, style), ...rest, ''].join('\n');
}

/** All of the call: its text if the question shortened it, then its arguments. */
export function wholeRequest(request: ApprovalRequest, inputJson: string, style: Style): string {
  const isShort = request.rendered.split('\n').length <= MAX_TEXT_LINES;
  const text = isShort ? '' : `  ${indent(colouredDiff(request.rendered, style))}\n`;
  return `${text}${wholeArguments(inputJson)}`;
}

export function questionHead({ tool, line, agents = [] }: ApprovalRequest, style: Style): string {
  const path = agents.length === 0 ? '' : `, for the sub-agent ${safe(agents.join(' > '))}`;
  const place = line === undefined ? '' : ` (line ${line} of the script)`;
  return `${style.yellow('?')} ${style.bold(`${safe(tool)} needs your approval`)}${path}${place}`;
}

/** The lines about the call, without the name of its tool. */
export function requestLines(request: ApprovalRequest, style: Style): string[] {
  return [
    ...(request.snippet === undefined ? [] : [style.dim(`    ${indent(safe(request.snippet.trim()))}`)]),
    ...(request.context === undefined ? [] : [`  the script says: ${indent(safe(request.context))}`]),
    // `rendered` is escaped already. A second pass would escape its escape sequences.
    `  ${indent(colouredDiff(request.rendered, style))}`,
    ...sourceLines(request, style),
  ];
}

/** The sources of the arguments, if a rule is about them. */
function sourceLines({ provenance }: ApprovalRequest, style: Style): string[] {
  if (provenance === undefined) return [];
  const parts = provenanceLines(provenance).map(({ path, source, isDoubtful }) => {
    const text = `${safe(path)}: ${safe(source)}`;
    return isDoubtful ? style.yellow(text) : text;
  });
  const proof =
    provenance.status === 'unknown' ? [style.dim('  Sources are found by equal content, which is no proof.')] : [];
  return parts.length === 0 ? [] : [`  ${parts.join(' · ')}`, ...proof];
}

/** The question, with its choices in lines of at most `columns`. */
export function promptText(style: Style, { covers, plan }: Choices, columns: number): string {
  const always = covers.map(
    (calls, index) => `  [${RULE_KEYS[index]}] would always allow in this workspace: ${visibleLine(calls)}\n`,
  );
  const more = [
    '[e]dit',
    '[a]lways this tool',
    ...(plan ? ['[p]lan'] : []),
    ...(covers.length === 0 ? [] : ['[s]ession']),
    ...['[w]orkspace', '[b]roader'].slice(0, covers.length),
    '[l]ater',
    '[v]iew',
    '[?]',
  ];
  const lines = inLines(more, columns - 2).map((line) => `  ${style.dim(line)}\n`);
  return `${always.join('')}${lines.join('')}  ${style.bold('Allow it?')} [y]es, [N]o `;
}

/** Joins words without hidden characters to lines, and breaks no word. */
function inLines(words: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)}  ${word}`;
    if (lines.length === 0 || textWidth(longer) > columns) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** The calls that a decision for the plan covers: their arguments are in the script's text. */
export function plannedCalls({ plan }: ApprovalRequest): ApprovalRequest['plan'] {
  return plan.filter((call) => Object.hasOwn(call, 'input'));
}

/** The calls that the approval of the plan covers. */
export function planText(request: ApprovalRequest): string {
  const calls = plannedCalls(request).map((call) => `  ${plannedCallLine(call)}\n`);
  return `  The calls of this script whose arguments are known:\n${calls.join('')}`;
}

export function planPrompt(style: Style): string {
  return `  ${style.bold('Allow this call and all of these?')} [y]es, [N]o `;
}

/** The arguments as indented JSON, not truncated. */
export function wholeArguments(inputJson: string): string {
  const json = JSON.stringify(JSON.parse(inputJson), undefined, 2);
  return json
    .split('\n')
    .map((line) => {
      const text = line.trimStart();
      const indentation = ' '.repeat(4 + line.length - text.length);
      return `${indentation}${renderForPerson(text, { maxLength: Number.MAX_SAFE_INTEGER })}\n`;
    })
    .join('');
}

export function helpText({ covers, plan }: Choices): string {
  return [
    '  y  run this call',
    '  n  refuse it, and say why; Enter refuses it without a reason',
    '  e  change its arguments in your editor, then decide',
    '  a  run this call and every further one of this tool, until the script ends',
    plan
      ? '  p  run this call and every known call of the script; they are listed first'
      : "  p  is not offered: the arguments of the script's calls are not known",
    covers.length === 0
      ? '  w  is not offered: no rule can describe this call, your own rules ask about it, or you edited it'
      : '  w  run this call, and always allow the calls named above in this workspace',
    ...(covers.length === 0 ? [] : ['  s  the same, but only until toolscript ends']),
    ...(covers.length < 2 ? [] : ['  b  the same, for the broader description']),
    '  l  decide later: the script is suspended, and toolscript approvals lists it',
    '  v  show the full arguments',
    '  Ctrl-C  stop; the script is suspended, as with l',
    '  Shift-Tab  change the mode; the next modes allow edits of files, then every call',
    '',
  ].join('\n');
}

function safe(text: string): string {
  return renderForPerson(text, { maxLength: 400 });
}
