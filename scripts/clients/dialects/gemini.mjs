// The API of Gemini.
import { events } from '../mock-model.mjs';

export const gemini = {
  fixed: (path) =>
    path.endsWith(':countTokens') ? { type: 'application/json', body: '{"totalTokens":100}' } : undefined,

  read(path, body) {
    if (!/:(?:stream)?[gG]enerateContent$/u.test(path) || body === undefined) return undefined;
    const results = [];
    const said = (body.systemInstruction?.parts ?? []).flatMap(({ text }) => text ?? []);
    for (const { role, parts } of body.contents)
      for (const { text, functionResponse, inlineData } of parts) {
        if (functionResponse !== undefined) results.push(resultOf(functionResponse));
        else if (inlineData !== undefined && results.length > 0) results.at(-1).images += 1;
        else if (text !== undefined && role === 'user') said.push(text);
      }
    const declared = (body.tools ?? []).flatMap(({ functionDeclarations = [] }) => functionDeclarations);
    const tools = declared.map(({ name, description = '' }) => ({ name, description }));
    return { tools, instructions: said.join('\n'), results };
  },

  write({ tool, input, id, said }, _body, path) {
    const part = tool === undefined ? { text: said } : { functionCall: { id, name: tool.name, args: input } };
    const answer = {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    };
    if (path.includes('stream')) return events([answer]);
    return { type: 'application/json', body: JSON.stringify(answer) };
  },
};

function resultOf({ response, parts = [] }) {
  const { output, error } = response;
  const text = output ?? error ?? response;
  return {
    text: typeof text === 'string' ? text : JSON.stringify(text),
    images: parts.filter(({ inlineData }) => inlineData !== undefined).length,
  };
}
