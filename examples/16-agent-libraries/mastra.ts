import { startScriptedServer } from '@toolscript/core/providers';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { ANSWER, CODE, harness, QUESTION, runScript } from './weather.ts';

const { name, description, inputSchema } = runScript;
const run_script = createTool({
  id: name,
  description,
  inputSchema,
  execute: (input, { abortSignal: signal }) => runScript.execute(input as { code: string }, signal && { signal }),
});

// In place of a provider: a server of this machine that speaks the format of Chat Completions.
const server = await startScriptedServer({
  turns: [{ parts: [{ type: 'call', name, arguments: { code: CODE } }] }, { parts: [{ type: 'text', text: ANSWER }] }],
});
const model = { id: 'scripted/model', url: server.baseUrl, apiKey: 'none is needed here' } as const;

const agent = new Agent({ id: 'weather', name: 'Weather', instructions: 'Be brief.', model, tools: { run_script } });
const answer = await agent.stream(QUESTION);
for (const { payload } of await answer.toolResults) console.log(payload.result);
console.log('answer:', await answer.text);
await server.close();
await harness.close();
