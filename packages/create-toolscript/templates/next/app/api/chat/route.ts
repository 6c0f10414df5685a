import { createScriptTool } from '@toolscript/core/ai-sdk';
import { convertToModelMessages, stepCountIs, streamText, type UIMessage } from 'ai';
import { model } from './model';
import { tools } from './tools';

// One tool for the model, which gives it all of them.
const scripts = createScriptTool(tools);

export async function POST(request: Request) {
  const { messages } = (await request.json()) as { messages: UIMessage[] };
  const { tool: run_script } = await scripts;
  const result = streamText({
    model: await model(),
    messages: await convertToModelMessages(messages),
    tools: { run_script },
    stopWhen: stepCountIs(10),
    abortSignal: request.signal,
  });
  return result.toUIMessageStreamResponse();
}
