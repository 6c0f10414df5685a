// @ts-check
import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import { ANSWER, CODE, harness, QUESTION, runScript } from './weather.mjs';

setTracingDisabled(true);
const { name, description, inputSchema: parameters } = runScript;
const run_script = tool({
  name,
  description,
  parameters: { ...parameters, required: [...parameters.required] },
  strict: true,
  execute: async (input, _context, details) => {
    const signal = details?.signal;
    const output = await runScript.execute(/** @type {{ code: string }} */ (input), signal && { signal });
    console.log(output);
    return output;
  },
});

/** @type {import('@openai/agents').AgentOutputItem[][]} */
const answers = [
  [{ type: 'function_call', callId: 'call_1', name, arguments: JSON.stringify({ code: CODE }), status: 'completed' }],
  [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: ANSWER }] }],
];
/** A scripted model: use the name of a real one. @type {import('@openai/agents').Model} */
const model = {
  getResponse: async () => ({ usage: new Usage(), output: answers.shift() ?? [] }),
  getStreamedResponse: () => {
    throw new Error('this example does not stream');
  },
};

const agent = new Agent({ name: 'Weather', model, tools: [run_script] });
const { finalOutput } = await run(agent, QUESTION);
console.log('answer:', finalOutput);
await harness.close();
