import { Agent, run, setTracingDisabled, tool, Usage, type AgentOutputItem, type Model } from '@openai/agents';
import { ANSWER, CODE, harness, QUESTION, runScript } from './weather.ts';

setTracingDisabled(true);
const { name, description, inputSchema: parameters } = runScript;
const run_script = tool({
  name,
  description,
  parameters: { ...parameters, required: [...parameters.required] },
  strict: true,
  execute: async (input, _context, details) => {
    const signal = details?.signal;
    const output = await runScript.execute(input as { code: string }, signal && { signal });
    console.log(output);
    return output;
  },
});

const answers: AgentOutputItem[][] = [
  [{ type: 'function_call', callId: 'call_1', name, arguments: JSON.stringify({ code: CODE }), status: 'completed' }],
  [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: ANSWER }] }],
];
/** A scripted model: use the name of a real one. */
const model: Model = {
  getResponse: async () => ({ usage: new Usage(), output: answers.shift() ?? [] }),
  getStreamedResponse: () => {
    throw new Error('this example does not stream');
  },
};

const agent = new Agent({ name: 'Weather', model, tools: [run_script] });
const { finalOutput } = await run(agent, QUESTION);
console.log('answer:', finalOutput);
await harness.close();
