import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent } from '@toolscript/core/agent';
import { withEnvironment } from '../../packages/cli/dist/agents/environment-block.js';
import { withProjectInstructions } from '../../packages/cli/dist/agents/project-instructions.js';
import { runTask } from './run-task.mjs';
import { TASKS } from './tasks/index.mjs';

/*
 * The input tokens of the tasks by scripts, with the system texts of the command: the tasks' own role alone, the
 * instructions for code and the environment after it, and an AGENTS.md of 200 lines too. Run: node
 * bench/economy/instructions.mjs
 */

const LINES = 200;

/** @param {boolean} hasFile Whether the workspace has an AGENTS.md. */
async function systemText(hasFile) {
  const workspace = mkdtempSync(join(tmpdir(), 'toolscript-instructions-'));
  try {
    const line = (index) =>
      `- Rule ${index}: keep the modules of src/part-${index} small, and test each with npm test.`;
    if (hasFile)
      writeFileSync(join(workspace, 'AGENTS.md'), Array.from({ length: LINES }, (_, n) => line(n)).join('\n'));
    const environment = { HOME: workspace, XDG_CONFIG_HOME: join(workspace, 'config'), PATH: process.env.PATH };
    const coding = defineAgent({ slug: 'coder' });
    const { agent } = await withProjectInstructions(coding, environment, workspace, console.error);
    return (await withEnvironment(agent, workspace, undefined)).instructions;
  } finally {
    rmSync(workspace, { recursive: true });
  }
}

const texts = {
  'the task alone': '',
  'with the instructions for code': await systemText(false),
  [`with an AGENTS.md of ${LINES} lines too`]: await systemText(true),
};
for (const [title, text] of Object.entries(texts)) {
  const total = { turns: 0, inputTokens: 0, newInputTokens: 0, outputTokens: 0 };
  for (const task of TASKS) {
    const { figures } = await runTask({ ...task, role: `${task.role}\n\n${text}`.trim() }, 'scripts');
    for (const name of Object.keys(total)) total[name] += figures[name];
  }
  console.log(`| ${[title, ...Object.values(total)].join(' | ')} |`);
}
