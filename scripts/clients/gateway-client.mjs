import { createInterface } from 'node:readline';

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
};

/** A client of `toolscript mcp` over its standard input and output, by hand: it reads exactly what is written. */
export class GatewayClient {
  #started;
  #lines;
  #requests = 0;
  /** What the gateway answers to `initialize`. */
  offer;

  static async connect(place) {
    const client = new GatewayClient(place);
    client.offer = await client.request('initialize', INITIALIZE);
    client.#send({ method: 'notifications/initialized' });
    return client;
  }

  constructor(place) {
    this.#started = place.start('toolscript', ['mcp'], { input: 'pipe' });
    this.#lines = createInterface({ input: this.#started.child.stdout })[Symbol.asyncIterator]();
  }

  async request(method, params = {}) {
    const id = (this.#requests += 1);
    this.#send({ id, method, params });
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`The gateway ended: ${(await this.#started.ended).output}`);
      const message = JSON.parse(value);
      if (message.id === id) return message.result;
    }
  }

  /** The text and the data of a tool's result. */
  async call(name, input) {
    const { content, structuredContent } = await this.request('tools/call', { name, arguments: input });
    return { text: content.map(({ text }) => text ?? '').join('\n'), data: structuredContent };
  }

  async close() {
    this.#started.child.stdin.end();
    await this.#started.ended;
  }

  #send(message) {
    this.#started.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
