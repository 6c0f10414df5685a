// The Chat Completions API of OpenAI.
import { events } from '../mock-model.mjs';

export const chat = {
  read(path, body) {
    if (!path.endsWith('/chat/completions') || body === undefined) return undefined;
    const results = [];
    const said = [];
    for (const { role, content } of body.messages) {
      if (role === 'tool') results.push({ text: textOf(content), images: imagesIn(content) });
      else if (role === 'user' && results.length > 0) results.at(-1).images += imagesIn(content);
      else if (role !== 'assistant') said.push(textOf(content));
    }
    const tools = (body.tools ?? []).map(({ function: { name, description = '' } }) => ({ name, description }));
    return { tools, instructions: said.join('\n'), results };
  },

  write({ tool, input, id, said }, { model, stream }) {
    const call = { index: 0, id, type: 'function', function: { name: tool?.name, arguments: JSON.stringify(input) } };
    const message = {
      role: 'assistant',
      ...(tool === undefined ? { content: said } : { content: null, tool_calls: [call] }),
    };
    const finish_reason = tool === undefined ? 'stop' : 'tool_calls';
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const common = { id: 'chat_1', created: 1, model };
    if (stream !== true)
      return {
        type: 'application/json',
        body: JSON.stringify({
          ...common,
          object: 'chat.completion',
          choices: [{ index: 0, message, finish_reason }],
          usage,
        }),
      };
    const chunk = (delta, reason = null) => ({
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const sent = events([chunk(message), { ...chunk({}, finish_reason), usage }]);
    return { ...sent, body: `${sent.body}data: [DONE]\n\n` };
  },
};

function textOf(content) {
  if (typeof content === 'string') return content;
  return (content ?? []).flatMap(({ text }) => text ?? []).join('\n');
}

function imagesIn(content) {
  return Array.isArray(content) ? content.filter(({ type }) => type === 'image_url').length : 0;
}
