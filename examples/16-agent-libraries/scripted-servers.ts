// The two providers, as functions that take a request: the first answer calls the tool, the one after its result is
// text. They check that the request carries the tool, and the result.
import { ANSWER, CODE } from './weather.ts';

export const scriptedOpenAI: typeof fetch = async (_url, init) => {
  const { input, tools } = JSON.parse(String(init?.body));
  if (tools[0].name !== 'run_script') return Response.json({ error: { message: 'no tool' } }, { status: 400 });
  const isDone = input.some(({ type }: { type?: string }) => type === 'function_call_output');
  const text = { type: 'output_text', text: ANSWER, annotations: [] };
  const item = isDone
    ? { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] }
    : {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'run_script',
        arguments: JSON.stringify({ code: CODE }),
      };
  return Response.json({ id: 'resp_1', object: 'response', status: 'completed', output: [item] });
};

export const scriptedAnthropic: typeof fetch = async (_url, init) => {
  const { messages, tools } = JSON.parse(String(init?.body));
  if (tools[0].name !== 'run_script') return Response.json({ error: { message: 'no tool' } }, { status: 400 });
  const isDone = messages.at(-1).content[0]?.type === 'tool_result';
  const block = isDone
    ? { type: 'text', text: ANSWER }
    : { type: 'tool_use', id: 'toolu_1', name: 'run_script', input: { code: CODE } };
  return Response.json({ id: 'msg_1', type: 'message', role: 'assistant', content: [block] });
};
