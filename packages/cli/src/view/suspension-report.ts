import type { KeptScriptDetails } from '@toolscript/core';
import { questionHead, requestLines } from '../approvals/question.js';
import { ownCommand } from '../terminal/own-command.js';
import { shellWord } from '../terminal/shell-word.js';
import type { Style } from '../terminal/style.js';

export interface SuspendedScript {
  scriptId: string;
  /** Left out: only the commands are shown. */
  details: Pick<KeptScriptDetails, 'pendingApprovals'> | undefined;
  /** What the commands must repeat. */
  options: readonly string[];
  style: Style;
  write: (line: string) => void;
}

/** What a script that was put aside waits for, and the exact commands that go on with it. */
export function showSuspended({ scriptId, details, options, style, write }: SuspendedScript): void {
  write(`${style.yellow('⏸')} ${style.bold(`script ${scriptId}`)} is put aside until you decide`);
  for (const request of details?.pendingApprovals ?? []) {
    write('');
    write(questionHead(request, style));
    for (const line of requestLines(request, style)) write(line);
  }
  if (details !== undefined) write('');
  for (const line of commandLines(scriptId, 'suspended', options)) write(line);
  write(`  look      ${ownCommand()} approvals show ${scriptId}`);
}

/** What became of a script that was stopped in the middle, and can be gone on with. */
export function leftLines(scriptId: string, options: readonly string[], style: Style): string[] {
  return [
    `${style.yellow('⏸')} ${style.bold(`script ${scriptId}`)} was cut off; what it had done is kept`,
    ...commandLines(scriptId, 'interrupted', options),
  ];
}

/** The commands that go on with a script, ready to be pasted. */
export function commandLines(
  scriptId: string,
  state: 'suspended' | 'interrupted',
  options: readonly string[],
): string[] {
  const resume = [ownCommand(), 'resume', scriptId, ...options.map(shellWord)].join(' ');
  if (state === 'suspended') return [`  approve   ${resume} --approve`, `  refuse    ${resume} --deny`];
  return [`  go on     ${resume}`, `  forget    ${ownCommand()} approvals delete ${scriptId}`];
}
