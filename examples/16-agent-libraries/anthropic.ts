import Anthropic from '@anthropic-ai/sdk';
import { scriptedAnthropic } from './scripted-servers.ts';
import { harness, QUESTION, runScript } from './weather.ts';

const client = new Anthropic({ apiKey: 'none is needed here', fetch: scriptedAnthropic });
const { name, description, inputSchema: input_schema } = runScript;

const messages: Anthropic.MessageParam[] = [{ role: 'user', content: QUESTION }];
for (;;) {
  const tools = [{ name, description, input_schema: { ...input_schema, required: [...input_schema.required] } }];
  const { content } = await client.messages.create({ model: 'claude-haiku-4-5', max_tokens: 4096, messages, tools });
  messages.push({ role: 'assistant', content });
  const results: Anthropic.ToolResultBlockParam[] = [];
  for (const block of content) {
    if (block.type === 'text') console.log('answer:', block.text);
    if (block.type !== 'tool_use') continue;
    const output = await runScript.execute(block.input as { code: string });
    console.log(output);
    results.push({ type: 'tool_result', tool_use_id: block.id, content: output });
  }
  if (results.length === 0) break;
  messages.push({ role: 'user', content: results });
}
await harness.close();
