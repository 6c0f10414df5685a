// The Responses API of OpenAI.
import { events } from '../mock-model.mjs';

export const responses = {
  fixed: (path) =>
    path.endsWith('/models') ? { type: 'application/json', body: '{"models":[],"data":[]}' } : undefined,

  read(path, body) {
    if (!path.endsWith('/responses') || body === undefined) return undefined;
    const messages = body.input.filter(({ type }) => type === 'message');
    return {
      tools: (body.tools ?? []).flatMap(functions),
      instructions: [
        body.instructions ?? '',
        ...(body.tools ?? []).flatMap(({ type, description }) => (type === 'namespace' ? description : [])),
        ...messages.map(({ content }) => textOf(content)),
      ].join('\n'),
      results: body.input.flatMap(({ type, output }) =>
        type === 'function_call_output' || type === 'custom_tool_call_output'
          ? { text: textOf(output), images: imagesIn(output) }
          : [],
      ),
    };
  },

  write({ tool, input, id, said }) {
    const item =
      tool === undefined
        ? {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: said, annotations: [] }],
          }
        : {
            type: 'function_call',
            id: `fc_${id}`,
            call_id: id,
            name: tool.ownName,
            namespace: tool.namespace,
            arguments: JSON.stringify(input),
            status: 'completed',
          };
    const usage = {
      input_tokens: 100,
      input_tokens_details: null,
      output_tokens: 10,
      output_tokens_details: null,
      total_tokens: 110,
    };
    const response = { id: 'resp_1', object: 'response', status: 'completed', output: [item], usage };
    return events([
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ]);
  },
};

/** The functions of a tool; those of a namespace have its name before their own. */
function functions({ type, name, description = '', tools = [] }, _index, _all, namespace) {
  if (type === 'namespace') return tools.flatMap((tool) => functions(tool, 0, [], name));
  return type === 'function' ? { name: `${namespace ?? ''}${name}`, ownName: name, namespace, description } : [];
}

function textOf(content) {
  if (typeof content === 'string') return content;
  return content.flatMap(({ text }) => text ?? []).join('\n');
}

function imagesIn(content) {
  return typeof content === 'string' ? 0 : content.filter(({ type }) => type === 'input_image').length;
}
