import { arch, platform, release } from 'node:os';
import type { AgentConfig } from '@toolscript/core/agent';
import { visibleLine } from '../terminal/untrusted.js';
import { isCodingAgent } from './project-instructions.js';

const [BEGINNING, END] = ['<environment>\n', '</environment>'];

/**
 * Adds the folder, the system, the date and the state of git to the instructions of a coding agent. A conversation
 * keeps the block of its first request, which `earlier`, its stored system text, contains.
 */
export async function withEnvironment(
  agent: AgentConfig,
  workspace: string,
  earlier: string | undefined,
): Promise<AgentConfig> {
  if (!isCodingAgent(agent)) return agent;
  const block = earlier === undefined ? await environmentBlock(workspace) : blockIn(earlier);
  if (block === undefined) return agent;
  return { ...agent, instructions: [agent.instructions, block].filter((text) => text !== undefined).join('\n\n') };
}

async function environmentBlock(workspace: string): Promise<string> {
  const { gitState } = await import('@toolscript/tools/internal');
  const git = await gitState(workspace);
  const lines = [
    `folder: ${visibleLine(workspace)}`,
    `system: ${platform()} ${release()} (${arch()})`,
    `date: ${new Date().toISOString().slice(0, 10)}`,
    `git: ${git === undefined ? 'no repository' : gitText(git.branch, git.changedFiles)}`,
  ];
  return `${BEGINNING}${lines.map((line) => `${line}\n`).join('')}${END}`;
}

/** The block follows all other instructions. */
function blockIn(system: string): string | undefined {
  const from = system.lastIndexOf(BEGINNING);
  const to = system.indexOf(END, from);
  return from === -1 || to === -1 ? undefined : system.slice(from, to + END.length);
}

function gitText(branch: string | undefined, changed: number | undefined): string {
  const where = branch === undefined ? 'no branch' : `branch ${visibleLine(branch)}`;
  if (changed === undefined) return where;
  return `${where}, ${changed === 0 ? 'clean' : `${changed} changed or new ${changed === 1 ? 'file' : 'files'}`}`;
}
