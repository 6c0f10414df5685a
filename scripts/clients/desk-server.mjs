// An MCP server over stdio with a call that reads, one with effects, one that returns an image, and a slow one.
import { setTimeout as sleep } from 'node:timers/promises';
import { createInterface } from 'node:readline';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const READS = { readOnlyHint: true };
const text = (said) => ({ content: [{ type: 'text', text: said }] });

const TOOLS = {
  count: { description: 'Counts the letters', annotations: READS, act: () => text('3 letters') },
  picture: {
    description: 'Returns a picture of the desk',
    annotations: READS,
    act: () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }),
  },
  rest: {
    description: 'Answers after some seconds',
    annotations: READS,
    properties: { seconds: { type: 'number' } },
    act: async ({ seconds }) => {
      await sleep(seconds * 1_000);
      return text('rested');
    },
  },
  send: {
    description: 'Sends a letter',
    properties: { to: { type: 'string' } },
    act: ({ to }) => text(`sent to ${to}`),
  },
};

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'desk', version: '1.0.0' },
  }),
  'tools/list': () => ({
    tools: Object.entries(TOOLS).map(([name, { description, annotations, properties = {} }]) => ({
      name,
      description,
      annotations,
      inputSchema: { type: 'object', properties, required: Object.keys(properties) },
    })),
  }),
  'tools/call': ({ name, arguments: input }) => TOOLS[name].act(input),
};

createInterface({ input: process.stdin }).on('line', (line) => void answer(JSON.parse(line)));

async function answer({ id, method, params = {} }) {
  const result = await ANSWERS[method]?.(params);
  if (result !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
