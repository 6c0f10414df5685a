import type { KeptScriptDetails } from '@toolscript/core';
import { questionHead, requestLines } from '../approvals/question.js';
import { ownCommand, shellWord } from '../terminal/own-command.js';
import type { Style } from '../terminal/screen.js';

export interface SuspendedScript {
  scriptId: string;
  /** The details with the pending approvals; undefined to show only the commands. */
  details: Pick<KeptScriptDetails, 'pendingApprovals'> | undefined;
  /** The options that the commands must repeat. */
  options: readonly string[];
  style: Style;
  write: (line: string) => void;
}

/** Shows the pending approvals of a suspended script, and the exact commands that resume it. */
export function showSuspendedScript({ scriptId, details, options, style, write }: SuspendedScript): void {
  write(`${style.yellow('⏸')} ${style.bold(`script ${scriptId}`)} is suspended until you decide`);
  for (const request of details?.pendingApprovals ?? []) {
    write('');
    write(questionHead(request, style));
    for (const line of requestLines(request, style)) write(line);
  }
  if (details !== undefined) write('');
  for (const line of commandLines(scriptId, 'suspended', options)) write(line);
  write(`  look      ${ownCommand()} approvals show ${scriptId}`);
}

/** The lines about a script that was interrupted and can be recovered. */
export function leftLines(scriptId: string, options: readonly string[], style: Style): string[] {
  return [
    `${style.yellow('⏸')} ${style.bold(`script ${scriptId}`)} was interrupted; its completed work is stored`,
    ...commandLines(scriptId, 'interrupted', options),
  ];
}

/** The commands that decide about the script of an MCP client. The client itself resumes the script. */
export function clientCommandLines(scriptId: string): string[] {
  const approvals = `${ownCommand()} approvals`;
  return [
    `  approve   ${approvals} approve ${scriptId}`,
    `  deny      ${approvals} deny ${scriptId}`,
    `  The MCP client that waits gets the result. If it has ended: ${ownCommand()} resume ${scriptId}`,
  ];
}

/** The lines with the commands that resume or delete a script. They can be pasted into a shell. */
export function commandLines(
  scriptId: string,
  state: 'suspended' | 'interrupted',
  options: readonly string[],
): string[] {
  const resume = [ownCommand(), 'resume', scriptId, ...options.map(shellWord)].join(' ');
  if (state === 'suspended') return [`  approve   ${resume} --approve`, `  deny      ${resume} --deny`];
  return [`  resume    ${resume}`, `  delete    ${ownCommand()} approvals delete ${scriptId}`];
}
