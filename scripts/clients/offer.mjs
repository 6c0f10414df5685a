import { createInterface } from 'node:readline';

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
};

/** Asks the gateway for its instructions, and for the description of each tool by name. */
export async function gatewayOffer(place) {
  const { child, ended } = place.start('toolscript', ['mcp'], { input: 'pipe' });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const request = async (id, method, params = {}) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`The gateway ended: ${(await ended).output}`);
      const message = JSON.parse(value);
      if (message.id === id) return message.result;
    }
  };
  try {
    const { instructions } = await request(1, 'initialize', INITIALIZE);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    const { tools } = await request(2, 'tools/list');
    return { instructions, tools: new Map(tools.map(({ name, description }) => [name, description])) };
  } finally {
    child.stdin.end();
    await ended;
  }
}
