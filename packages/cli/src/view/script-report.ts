import type { PlannedCall, ScriptExecutionItem, ScriptExecutionOutputItem } from '@toolscript/core/protocol';
import { indent } from '../terminal/indent.js';
import type { Style } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { callSummary } from './call-lines.js';
import { counted, shortDuration } from './values.js';

/** `▶ script 1a2b3c4d (ts, 12 lines)` */
export function banner(item: ScriptExecutionItem, style: Style): string {
  const lines = item.source_code === '' ? 0 : item.source_code.replace(/\r?\n$/u, '').split('\n').length;
  const state = item.status === 'pending' ? ', pending' : '';
  return `${style.cyan('▶')} ${style.bold(`script ${shortHash(item.source_sha256)}`)} ${style.dim(`(${item.language}, ${counted(lines, 'line')}${state})`)}`;
}

/** A script that was pending and runs now. */
export function startedBanner(sha256: string, style: Style): string {
  return `${style.cyan('▶')} ${style.bold(`script ${shortHash(sha256)}`)}`;
}

/** A script that continues; its text was shown at its start. */
export function resumedBanner(scriptId: string, style: Style): string {
  return `${style.cyan('▶')} ${style.bold(`script ${scriptId}`)} continues`;
}

export function replayBanner(scriptId: string, style: Style): string {
  return `${style.cyan('▶')} ${style.bold(`script ${scriptId}`)} ${style.dim('(replay; no tool is called)')}`;
}

function shortHash(sha256: string): string {
  return sha256.slice(0, 8);
}

/** The end of a script, in one line or, after a failure, a few. */
export function summary(output: ScriptExecutionOutputItem, style: Style): string {
  const took = `in ${shortDuration(output.metadata.duration_ms)}`;
  const calls = callCounts(output);
  if (output.status === 'completed') return `${style.green('✔')} completed ${took}${calls}`;
  if (output.status === 'suspended')
    return `${style.yellow('⏸')} suspended after ${shortDuration(output.metadata.duration_ms)}${calls}`;
  return [`${style.red('✘')} failed ${took}${calls}`, ...failureLines(output.error, style)].join('\n');
}

/** The calls of the script according to a dry run. */
export function planLines({ plan = [] }: ScriptExecutionItem): string[] {
  return plan.map((call) => `  ${plannedCallLine(call)}`);
}

export function plannedCallLine({ tool, input, line, repeated, conditional }: PlannedCall): string {
  const notes = [...(conditional ? ['maybe'] : []), ...(repeated ? ['repeatedly'] : [])];
  const about = callSummary(input);
  return `· ${visibleLine(tool)}${about === '' ? '' : ` ${about}`}  line ${line}${notes.length === 0 ? '' : `, ${notes.join(', ')}`}`;
}

function callCounts({ operations }: ScriptExecutionOutputItem): string {
  if (operations.length === 0) return '';
  const counts = new Map<string, number>();
  for (const { tool } of operations) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const names = [...counts].map(([tool, count]) => visibleLine(tool) + (count === 1 ? '' : ` ×${count}`));
  return ` · ${counted(operations.length, 'tool call')} (${names.join(', ')})`;
}

function failureLines(error: ScriptExecutionOutputItem['error'], style: Style): string[] {
  if (error === undefined) return [];
  // The compiler's messages contain their place.
  const saysPlace = error.line === undefined || error.message.includes(`(line ${error.line}`);
  const place = saysPlace
    ? ''
    : style.dim(` (line ${error.line}${error.column === undefined ? '' : `, column ${error.column}`})`);
  const lines = [`  ${style.red(error.code)}: ${indent(visible(error.message))}${place}`];
  if (error.frame !== undefined && error.frame !== '') lines.push(`    ${indent(visible(error.frame), 4)}`);
  if (error.hint !== undefined && error.hint !== '')
    lines.push(`  ${style.bold('hint:')} ${indent(visible(error.hint))}`);
  return lines;
}
