import { streamOf } from './wire-text.js';

/**
 * Synthetic answers with code of the provider, in the shapes that the services document:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling and
 * https://developers.openai.com/api/docs/guides/tools-programmatic-tool-calling
 */

const PYTHON = 'rows = await add(a=1, b=2)\nprint("Grüße", rows)';
const CONTAINER = { id: 'container_1', expires_at: '2126-01-01T00:00:00Z' };

const CODE_CALLER = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' };

const message_start = {
  type: 'message_start',
  message: {
    id: 'msg_h',
    type: 'message',
    role: 'assistant',
    model: 'model-1',
    content: [],
    usage: { input_tokens: 9, output_tokens: 1 },
  },
};

const textOf = (index: number, text: string) => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index },
];

const stop = (stop_reason: string) => [
  {
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null, container: CONTAINER },
    usage: { output_tokens: 30 },
  },
  { type: 'message_stop' },
];

const addCall = (index: number, id: string, a: number) => [
  {
    type: 'content_block_start',
    index,
    content_block: { type: 'tool_use', id, name: 'add', input: {}, caller: CODE_CALLER },
  },
  { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: `{"a":${a},` } },
  { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '"b":2}' } },
  { type: 'content_block_stop', index },
];

const codeJson = JSON.stringify({ code: PYTHON });

const messages = {
  'hosted code and two of its calls': streamOf(
    message_start,
    ...textOf(0, 'I add both.'),
    {
      type: 'content_block_start',
      index: 1,
      content_block: {
        type: 'server_tool_use',
        id: 'srvtoolu_1',
        name: 'code_execution',
        input: {},
        caller: { type: 'direct' },
      },
    },
    {
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: codeJson.slice(0, 20) },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: codeJson.slice(20) } },
    { type: 'content_block_stop', index: 1 },
    ...addCall(2, 'toolu_h1', 1),
    ...addCall(3, 'toolu_h2', 5),
    ...stop('tool_use'),
  ),
  'the output of hosted code and text': streamOf(
    message_start,
    {
      type: 'content_block_start',
      index: 0,
      content_block: {
        type: 'code_execution_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: { type: 'code_execution_result', stdout: 'Grüße 3\n', stderr: '', return_code: 0, content: [] },
      },
    },
    { type: 'content_block_stop', index: 0 },
    ...textOf(1, 'Three.'),
    ...stop('end_turn'),
  ),
};

const JAVASCRIPT = 'const r = await tools.add({ a: 1, b: 2 }); text(r);';
const PROGRAM_CALLER = { type: 'program', caller_id: 'call_prog_1' };
const program = { type: 'program', id: 'prog_1', call_id: 'call_prog_1', code: JAVASCRIPT, fingerprint: 'c2VhbGVk' };
const programCall = (id: string, a: number) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'add',
  arguments: `{"a":${a},"b":2}`,
  caller: PROGRAM_CALLER,
});
const programOutput = {
  type: 'program_output',
  id: 'prog_out_1',
  call_id: 'call_prog_1',
  result: '{"sum":3}',
  status: 'completed',
};
const words = {
  type: 'message',
  id: 'msg_h',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Three.', annotations: [] }],
};

/** An answer of the Responses API that consists of whole items. */
export function responsesOf(id: string, output: readonly object[]): string {
  const response = { id, model: 'model-1' };
  return streamOf(
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    {
      type: 'response.completed',
      response: { ...response, status: 'completed', output, usage: { input_tokens: 9, output_tokens: 30 } },
    },
  );
}

export const HOSTED_STREAMS = {
  'openai-responses': {
    'a program and two of its calls': responsesOf('resp_h', [
      program,
      programCall('call_h1', 1),
      programCall('call_h2', 5),
    ]),
    'the output of a program and text': responsesOf('resp_h', [programOutput, words]),
    'the output of a program alone': responsesOf('resp_h', [programOutput]),
  },
  'anthropic-messages': messages,
} as const;
