// The Messages API of Anthropic.
import { events } from '../mock-model.mjs';

export const anthropic = {
  fixed: (path) =>
    path.endsWith('/count_tokens') ? { type: 'application/json', body: '{"input_tokens":100}' } : undefined,

  read(path, body) {
    if (!path.endsWith('/v1/messages') || body === undefined) return undefined;
    const blocks = body.messages.flatMap(({ content }) => asBlocks(content));
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const said = [...asBlocks(body.system), ...blocks].flatMap(({ type, text }) => (type === 'text' ? text : []));
    return {
      tools: (body.tools ?? []).map(({ name, description = '' }) => ({ name, description })),
      instructions: said.join('\n'),
      results: results.map(({ content, is_error: isError = false }) => ({
        text: asBlocks(content)
          .flatMap(({ type, text }) => (type === 'text' ? text : []))
          .join('\n'),
        images: asBlocks(content).filter(({ type }) => type === 'image').length,
        isError,
      })),
    };
  },

  write({ tool, input, id, said }, { model, stream }) {
    const block = tool === undefined ? { type: 'text', text: said } : { type: 'tool_use', id, name: tool.name, input };
    const stop_reason = tool === undefined ? 'end_turn' : 'tool_use';
    const usage = { input_tokens: 100, output_tokens: 10 };
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    if (!stream)
      return { type: 'application/json', body: JSON.stringify({ ...message, content: [block], stop_reason }) };
    const delta =
      tool === undefined
        ? { type: 'text_delta', text: said }
        : { type: 'input_json_delta', partial_json: JSON.stringify(input) };
    const empty = tool === undefined ? { type: 'text', text: '' } : { ...block, input: {} };
    return events([
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: empty },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ]);
  },
};

function asBlocks(content) {
  if (content === undefined || content === null) return [];
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}
