import type { ProviderApi } from '#core/providers/index.js';
import { HOSTED_STREAMS, responsesOf } from './hosted-streams.js';
import { streamOf } from './wire-text.js';

/** Small synthetic answers, with which the laws are tested even without recordings. */

const chunk = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'model-1',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});

const responses = {
  'text, reasoning and a call': streamOf(
    { type: 'response.created', response: { id: 'resp_1', model: 'model-1', status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'rs_1', summary: [] } },
    {
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      item_id: 'rs_1',
      summary_index: 0,
      delta: 'Überlegt',
    },
    {
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      item_id: 'rs_1',
      summary_index: 1,
      delta: 'twice',
    },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: {
        type: 'reasoning',
        id: 'rs_1',
        summary: [
          { type: 'summary_text', text: 'Überlegt' },
          { type: 'summary_text', text: 'twice' },
        ],
        encrypted_content: 'c2VhbGVk',
      },
    },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { type: 'web_search_call', id: 'ws_1', status: 'in_progress' },
    },
    { type: 'response.web_search_call.searching', output_index: 1, item_id: 'ws_1' },
    {
      type: 'response.output_item.done',
      output_index: 1,
      item: { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'Oslo' } },
    },
    {
      type: 'response.output_item.added',
      output_index: 2,
      item: { type: 'message', id: 'msg_1', role: 'assistant', content: [], phase: 'commentary' },
    },
    { type: 'response.output_text.delta', output_index: 2, item_id: 'msg_1', content_index: 0, delta: 'Grüße, 😀' },
    { type: 'response.output_text.delta', output_index: 2, item_id: 'msg_1', content_index: 0, delta: '\n天' },
    {
      type: 'response.output_item.done',
      output_index: 2,
      item: {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Grüße, 😀\n天', annotations: [] }],
        phase: 'commentary',
      },
    },
    {
      type: 'response.output_item.added',
      output_index: 3,
      item: { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'getWeather', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', output_index: 3, item_id: 'fc_1', delta: '{"city":' },
    { type: 'response.function_call_arguments.delta', output_index: 3, item_id: 'fc_1', delta: '"Oslo"}' },
    {
      type: 'response.output_item.done',
      output_index: 3,
      item: { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'getWeather', arguments: '{"city":"Oslo"}' },
    },
    {
      type: 'response.completed',
      response: {
        id: 'resp_1',
        status: 'completed',
        output: [],
        usage: {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 64 },
          output_tokens: 20,
          output_tokens_details: { reasoning_tokens: 8 },
          total_tokens: 120,
        },
      },
    },
  ),
  'a hosted shell with its output, and a call': responsesOf('resp_1', [
    {
      type: 'shell_call',
      id: 'sh_1',
      call_id: 'call_sh',
      action: { commands: ['ls'] },
      environment: { type: 'container_reference', container_id: 'cntr_1' },
      status: 'completed',
    },
    {
      type: 'shell_call_output',
      id: 'sho_1',
      call_id: 'call_sh',
      output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      max_output_length: null,
      status: 'completed',
    },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'getWeather', arguments: '{"city":"Oslo"}' },
  ]),
};

const chat = {
  'text, reasoning and two calls': streamOf(
    chunk({ role: 'assistant', content: '', reasoning_content: '' }),
    chunk({ content: null, reasoning_content: 'Überlegt' }),
    chunk({ content: 'Grüße, ', reasoning_content: null }),
    chunk({ content: '😀\n天' }),
    chunk({
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'getWeather', arguments: '' } }],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }),
    chunk({
      tool_calls: [
        {
          index: 1,
          id: 'call_2',
          type: 'function',
          function: { name: 'getTime', arguments: '{}' },
          extra_content: { google: { thought_signature: 'c2VhbGVk' } },
        },
      ],
    }),
    chunk({}, { finish_reason: 'tool_calls' }),
    {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 8 },
      },
    },
    '[DONE]',
  ),
};

const messages = {
  'thinking, text and a call': streamOf(
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'model-1',
        content: [],
        usage: { input_tokens: 36, cache_read_input_tokens: 64, cache_creation_input_tokens: 5, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Über' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'legt' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2VhbGVk' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'Grüße, 😀\n' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: '天' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'content_block_start',
      index: 3,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'getWeather', input: {}, caller: { type: 'direct' } },
    },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '' } },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '{"city":' } },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '"Oslo"}' } },
    { type: 'content_block_stop', index: 3 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 20, output_tokens_details: { thinking_tokens: 8 } },
    },
    { type: 'message_stop' },
  ),
  'a search that waits beside a call': streamOf(
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"query":' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '"Oslo"}' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'getWeather', input: {} },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: 'message_stop' },
  ),
};

export const OWN_STREAMS: Readonly<Record<ProviderApi, Readonly<Record<string, string>>>> = {
  'openai-responses': { ...responses, ...HOSTED_STREAMS['openai-responses'] },
  'openai-chat': chat,
  'anthropic-messages': { ...messages, ...HOSTED_STREAMS['anthropic-messages'] },
};
