import type { KeptScript, KeptScriptDetails } from '@toolscript/core';
import { toSnakeCase } from '@toolscript/core/internal';
import { questionHead, requestLines, wholeArguments } from '../approvals/question.js';
import type { Origin } from '../state/persistent-state.js';
import { ownCommand } from '../terminal/own-command.js';
import type { Screen, Style } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { cutToWidth } from '../terminal/width.js';
import { callLine, callSummary, plannedCallLine } from './script-report.js';
import { ago } from './values.js';
import { clientCommandLines, commandLines } from './suspension-report.js';

const WORDS: Readonly<Record<KeptScript['state'], string>> = {
  suspended: 'waits',
  interrupted: 'interrupted',
  running: 'running',
  ended: 'ended',
  damaged: 'damaged',
};

/** A pending approval with the arguments of its call, if they are known. */
export type ListedApproval = KeptScript['approvals'][number] & { readonly input?: unknown };

type ListedKeptScript = Omit<KeptScript, 'approvals'> & { readonly approvals: readonly ListedApproval[] };

/** The list of scripts, with a few lines for each script and the commands for them. */
export function listLines(
  scripts: readonly (ListedKeptScript & { workspace: string | null })[],
  nowMs: number,
  screen: Screen,
): string[] {
  if (scripts.length === 0) return ['No script waits for a decision.'];
  const fit = (line: string) => (screen.isTerminal ? cutToWidth(line, screen.columns) : line);
  const lines = scripts.flatMap((script) => {
    const head = `${script.scriptId}  ${WORDS[script.state]}  ${ago(nowMs - script.updatedAtMs)}`;
    return [
      `${mark(script, screen.style)} ${fit(head)}`,
      ...what(script).map((line) => fit(`    ${line}`)),
      screen.style.dim(
        fit(`    in ${script.workspace === null ? 'an unknown folder' : visibleLine(script.workspace)}`),
      ),
    ];
  });
  return [...lines, '', ...hints(scripts)];
}

function mark({ state }: ListedKeptScript, style: Style): string {
  return state === 'ended' ? style.dim('·') : style.yellow(state === 'running' ? '▶' : '⏸');
}

function what({ state, approvals, ended }: ListedKeptScript): string[] {
  if (state === 'suspended')
    return approvals.map(
      ({ tool, line, input }) =>
        `${[visibleLine(tool), callSummary(input)].join(' ').trim()}${line === undefined ? '' : `, line ${line}`}`,
    );
  if (ended === undefined) return [];
  return [ended.status === 'completed' ? 'completed' : `failed: ${visibleLine(ended.code ?? '')}`];
}

function hints(scripts: readonly ListedKeptScript[]): string[] {
  return [
    ...(scripts.some(({ state }) => state === 'suspended')
      ? [`To see the details: ${ownCommand()} approvals show ID. To decide and resume: ${ownCommand()} resume ID`]
      : []),
    ...(scripts.some(({ state }) => state === 'interrupted')
      ? [`To recover an interrupted script: ${ownCommand()} resume ID`]
      : []),
  ];
}

/** The details of a script: its text with marks at the lines of pending calls, its plan, and its calls. */
export function detailLines(
  details: KeptScriptDetails,
  origin: Origin | undefined,
  nowMs: number,
  style: Style,
): string[] {
  const { scriptId, state, updatedAtMs, plan, operations, logs, output, pendingApprovals, ended, problem } = details;
  const done = operations.filter(({ status }) => status !== 'awaiting_approval');
  return [
    `${style.bold(`script ${scriptId}`)}  ${WORDS[state]}  ${ago(nowMs - updatedAtMs)}`,
    `in ${origin === undefined ? 'an unknown folder' : visibleLine(origin.workspace)}`,
    ...(problem === undefined ? [] : [style.red(visibleLine(problem))]),
    ...(ended?.status === 'failed'
      ? [`${style.red(ended.code ?? 'failed')}: ${visibleLine(ended.message ?? '')}`]
      : []),
    ...section('Script', sourceLines(details, style), style),
    ...section(
      'Plan',
      plan.map((call) => `  ${plannedCallLine(call)}`),
      style,
    ),
    ...section(
      'Done so far',
      done.map((operation) => callLine(toSnakeCase(operation), style)),
      style,
    ),
    ...section(
      'Console',
      logs.flatMap(({ text }) =>
        visible(text)
          .split('\n')
          .map((line) => `  [script] ${line}`),
      ),
      style,
    ),
    ...section(
      'Output',
      output === ''
        ? []
        : visible(output)
            .trimEnd()
            .split('\n')
            .map((line) => `  ${line}`),
      style,
    ),
    ...pendingApprovals.flatMap((request) => [
      '',
      `${questionHead(request, style)}, effect: ${request.effect}`,
      `  ${request.approvalId}`,
      ...requestLines(request, style),
      '  all arguments:',
      wholeArguments(request.inputJson).trimEnd(),
    ]),
    ...nextLines(details, origin),
  ];
}

function nextLines({ scriptId, state }: KeptScriptDetails, origin: Origin | undefined): string[] {
  if (state === 'suspended' && origin?.command === 'mcp') return ['', ...clientCommandLines(scriptId)];
  if (state !== 'suspended' && state !== 'interrupted') return [];
  return ['', ...commandLines(scriptId, state, origin?.options ?? [])];
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return lines.length === 0 ? [] : ['', style.bold(title), ...lines];
}

function sourceLines({ source, pendingApprovals }: KeptScriptDetails, style: Style): string[] {
  const waiting = new Set(pendingApprovals.map(({ line }) => line));
  const lines = source.replace(/\r?\n$/u, '').split('\n');
  const width = `${lines.length}`.length;
  return lines.map((line, index) => {
    const number = `${index + 1}`.padStart(width);
    const text = visible(line);
    return waiting.has(index + 1)
      ? style.yellow(`> ${number} | ${text}`)
      : `  ${style.dim(`${number} |`)} ${text}`.trimEnd();
  });
}
