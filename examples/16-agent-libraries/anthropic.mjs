// @ts-check
import Anthropic from '@anthropic-ai/sdk';
import { scriptedAnthropic } from './scripted-servers.mjs';
import { harness, QUESTION, runScript } from './weather.mjs';

const client = new Anthropic({ apiKey: 'none is needed here', fetch: scriptedAnthropic });
const { name, description, inputSchema: input_schema } = runScript;

/** @type {import('@anthropic-ai/sdk').Anthropic.MessageParam[]} */
const messages = [{ role: 'user', content: QUESTION }];
for (;;) {
  const tools = [{ name, description, input_schema: { ...input_schema, required: [...input_schema.required] } }];
  const { content } = await client.messages.create({ model: 'claude-haiku-4-5', max_tokens: 4096, messages, tools });
  messages.push({ role: 'assistant', content });
  /** @type {import('@anthropic-ai/sdk').Anthropic.ToolResultBlockParam[]} */
  const results = [];
  for (const block of content) {
    if (block.type === 'text') console.log('answer:', block.text);
    if (block.type !== 'tool_use') continue;
    const output = await runScript.execute(/** @type {{ code: string }} */ (block.input));
    console.log(output);
    results.push({ type: 'tool_result', tool_use_id: block.id, content: output });
  }
  if (results.length === 0) break;
  messages.push({ role: 'user', content: results });
}
await harness.close();
