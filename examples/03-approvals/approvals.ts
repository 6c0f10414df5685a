import { createHarness, defineTool, type ApprovalRequest, type Decision } from '@toolscript/core';
import { z } from 'zod';

const sendMail = defineTool({
  name: 'sendMail',
  description: 'Sends a mail',
  input: z.object({ to: z.email(), subject: z.string(), urgent: z.boolean().default(false) }),
  output: z.object({ sent: z.string() }),
  approval: 'always',
  effect: 'external',
  preview: ({ to, subject }) => `To: ${to}\nSubject: ${subject}`,
  async execute({ to, urgent }) {
    return { sent: `${to}${urgent ? ' (urgent)' : ''}` };
  },
});

/** Replaces a user. Each call comes with the exact arguments that would run. */
function decide({ tool, inputJson, line }: ApprovalRequest): Decision {
  console.log(`asked: ${tool} ${inputJson} (line ${line})`);
  const input = JSON.parse(inputJson);
  if (input.to.endsWith('@everyone.example')) return { decision: 'deny', note: 'Never to the whole company.' };
  if (input.urgent) return { decision: 'approve', input: { ...input, urgent: false } };
  return 'approve';
}

const harness = createHarness({ tools: [sendMail], approvals: decide });

const script = `
  const wanted = [
    { to: 'ada@team.example', subject: 'Minutes' },
    { to: 'list@everyone.example', subject: 'Minutes' },
    { to: 'alan@team.example', subject: 'Minutes', urgent: true },
  ];
  const done = [];
  const refused = [];
  for (const mail of wanted) {
    try {
      done.push((await tools.sendMail(mail)).sent);
    } catch (error) {
      if (!(error instanceof ApprovalDeniedError)) throw error;
      refused.push(error.message);
    }
  }
  return { done, refused };
`;
const outcome = await harness.runScript(script);

if (outcome.status === 'completed') console.log('value:', outcome.value);
for (const { status, input, error } of outcome.operations) {
  console.log('operation:', status, JSON.stringify(input), error?.code ?? '');
}

// Rules decide without a user: the first match wins, and calls that no rule allows are denied.
const byRule = await harness.runScript(`return await tools.sendMail({ to: 'ada@team.example', subject: 'Hello' })`, {
  approvals: [{ tool: 'sendMail', input: { to: '*@team.example' }, action: 'approve' }],
});
console.log('by rule:', byRule.status, byRule.operations[0]?.status);

await harness.close();
