// An MCP server of a hundred tools over stdio, as small as possible: its own start is not measured.
import { createInterface } from 'node:readline';
import { definitionsOf } from '../mcp-definitions.mjs';

const [, , server] = process.argv;
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: `server-${server}`, version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: definitionsOf(Number(server)) }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = answers[method];
  if (answer !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answer(params) }));
});
