// @ts-check
import OpenAI from 'openai';
import { scriptedOpenAI } from './scripted-servers.mjs';
import { harness, QUESTION, runScript } from './weather.mjs';

const client = new OpenAI({ apiKey: 'none is needed here', fetch: scriptedOpenAI });
const { name, description, inputSchema: parameters } = runScript;

/** @type {import('openai/resources/responses/responses').ResponseInput} */
const input = [{ role: 'user', content: QUESTION }];
for (;;) {
  const response = await client.responses.create({
    model: 'gpt-5.1',
    input,
    tools: [{ type: 'function', name, description, parameters: { ...parameters }, strict: true }],
  });
  input.push(.../** @type {typeof input} */ (response.output));
  const calls = response.output.filter((item) => item.type === 'function_call');
  for (const { call_id, arguments: json } of calls) {
    const output = await runScript.execute(JSON.parse(json));
    console.log(output);
    input.push({ type: 'function_call_output', call_id, output });
  }
  if (calls.length > 0) continue;
  console.log('answer:', response.output_text);
  break;
}
await harness.close();
