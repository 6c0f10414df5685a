import OpenAI from 'openai';
import { scriptedOpenAI } from './scripted-servers.ts';
import { harness, QUESTION, runScript } from './weather.ts';

const client = new OpenAI({ apiKey: 'none is needed here', fetch: scriptedOpenAI });
const { name, description, inputSchema: parameters } = runScript;

const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: QUESTION }];
for (;;) {
  const response = await client.responses.create({
    model: 'gpt-5.1',
    input,
    tools: [{ type: 'function', name, description, parameters: { ...parameters }, strict: true }],
  });
  input.push(...(response.output as typeof input));
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
