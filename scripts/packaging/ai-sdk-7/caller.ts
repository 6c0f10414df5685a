// Scripts through `experimental_toolCallers` of the AI SDK 7, and `toolApproval` for their calls.
import { generateText, isStepCount, tool, type ModelMessage } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { createScriptCaller } from '@toolscript/core/ai-sdk';

const paid: number[] = [];
const listInvoices = tool({
  description: 'The invoices that are due',
  inputSchema: z.object({}),
  outputSchema: z.array(z.object({ euros: z.number() })),
  execute: () => [{ euros: 5 }, { euros: 7 }],
});
const pay = tool({
  description: 'Pays',
  inputSchema: z.object({ euros: z.number() }),
  execute: ({ euros }) => {
    paid.push(euros);
    return 'paid';
  },
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const code = 'for (const { euros } of await tools.listInvoices({})) await tools.pay({ euros }); return "all";';
const answers = [
  {
    content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'run_script', input: JSON.stringify({ code }) }],
    finishReason: { unified: 'tool-calls', raw: undefined },
    usage,
    warnings: [],
  },
  { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] },
];
const model = new MockLanguageModelV4({ doGenerate: answers as never });

const toolApproval = { pay: 'user-approval' } as const;
const tools = { listInvoices, pay };
const { tool: run_script, close } = createScriptCaller(tools, { toolApproval });
const messages: ModelMessage[] = [{ role: 'user', content: 'Pay what is due.' }];
const ask = () =>
  generateText({
    model,
    messages,
    tools: { run_script, ...tools },
    experimental_toolCallers: { listInvoices: ['run_script'], pay: ['run_script'] },
    toolApproval,
    stopWhen: isStepCount(3),
  });

const asked = await ask();
const offered = (model.doGenerateCalls[0]?.tools ?? []) as { name: string; description?: string }[];
const requests = asked.content.filter((part) => part.type === 'tool-approval-request');
const before = paid.length;
messages.push(...asked.response.messages, {
  role: 'tool',
  content: requests.map(({ approvalId }) => ({ type: 'tool-approval-response', approvalId, approved: true })),
});
const answered = await ask();
await close();
console.log(
  JSON.stringify({
    offered: offered.map(({ name }) => name),
    declares: ['listInvoices', 'pay'].every((name) => offered[0]?.description?.includes(name)),
    requests: requests.length,
    before,
    paid,
    text: answered.text,
  }),
);
