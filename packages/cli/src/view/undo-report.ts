import type { UndoReport } from '@toolscript/server/access';
import type { Style } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { countWithNoun } from './values.js';
import { colouredDiff } from './script-report.js';

type File = UndoReport['files'][number];
type Call = UndoReport['calls'][number];

const CHANGES: Readonly<Record<File['change'], string>> = {
  create: 'restore',
  update: 'change',
  delete: 'remove',
};

/**
 * The lines about the planned changes, with the diff of each file if the report contains it. A diff with more lines than
 * `maxDiffLines` is shortened.
 */
export function undoLines(report: UndoReport, style: Style, maxDiffLines = Infinity): string[] {
  const { direction, files, calls, refusal } = report;
  if (refusal !== undefined) return leftLines(report, style);
  if (files.length === 0 && calls.length === 0)
    return [
      `There is nothing to ${direction} of ${report.scriptId}: its files are as they were.`,
      ...leftLines(report, style),
    ];
  const verb = direction === 'undo' ? 'Undo' : 'Redo';
  return [
    style.bold(`${verb}: ${countText(report)}`),
    ...files.flatMap((file) => fileLines(file, style, maxDiffLines)),
    ...calls.map((call) => `  undo     ${callText(call)}`),
    ...leftLines(report, style),
  ];
}

/** The lines about the changes that were made. */
export function undoneLines(report: UndoReport, style: Style): string[] {
  if (!report.isDone) return leftLines(report, style);
  const verb = report.direction === 'undo' ? 'Undone' : 'Redone';
  return [`${style.green('✓')} ${verb}: ${countText(report)}`, ...leftLines(report, style)];
}

function countText({ scriptId, files, calls }: UndoReport): string {
  const count = [
    countWithNoun(files.length, 'file'),
    ...(calls.length === 0 ? [] : [countWithNoun(calls.length, 'call')]),
  ];
  return `${count.join(', ')} of ${scriptId}`;
}

function fileLines({ path, change, diff }: File, style: Style, maxDiffLines: number): string[] {
  const line = `  ${CHANGES[change].padEnd(8)} ${visibleLine(path)}`;
  if (diff === undefined) return [line];
  const lines = visible(diff.trimEnd()).split('\n');
  const more = lines.length - maxDiffLines;
  const rest = more > 0 ? [style.dim(`… ${countWithNoun(more, 'more line')}: undo --dry-run shows all`)] : [];
  return [line, colouredDiff(lines.slice(0, maxDiffLines).join('\n'), style), ...rest, ''];
}

function leftLines({ conflicts, notUndoable, notUndone }: UndoReport, style: Style): string[] {
  const problems = conflicts.map(({ path, reason }) => `  ${visibleLine(path)}: ${visibleLine(reason)}`);
  const left = [
    ...notUndoable.map(({ path, reason }) => `  ${visibleLine(path)}: ${visibleLine(reason)}`),
    ...notUndone.map((call) => `  ${callText(call)}`),
  ];
  return [
    ...(problems.length === 0 ? [] : [style.red('Changed since:'), ...problems]),
    ...(left.length === 0 ? [] : [style.yellow('Not undone:'), ...left]),
  ];
}

function callText({ tool, line, reason }: Call): string {
  const where = line === undefined ? '' : ` (line ${line})`;
  return `${visibleLine(tool)}${where}${reason === undefined ? '' : `: ${visibleLine(reason)}`}`;
}
