// A model on loopback. It says what a scenario tells it to say, and gives the scenario what the client lets it read.
import { createServer } from 'node:http';
import { once } from 'node:events';

/** The dialect of a model's service: `read` finds what the model reads in a request, `write` makes an answer. */
export class MockModel {
  /** All requests of the client, for a person who looks for the reason of a failure. */
  requests = [];
  #dialect;
  #server = createServer((request, response) => void this.#answer(request, response));
  #calls = 0;
  #reading = pending();
  #reply = pending();

  constructor(dialect) {
    this.#dialect = dialect;
  }

  /** Returns the address of the service. */
  async listen() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** Resolves with what the model reads when the client first asks it. */
  begins() {
    return this.#reading.promise;
  }

  /** Calls a tool. Resolves with what the model reads then. */
  calls(tool, input) {
    this.#calls += 1;
    const { resolve } = this.#reply;
    this.#reading = pending();
    this.#reply = pending();
    resolve({ tool, input, id: `call_${this.#calls}` });
    return this.#reading.promise;
  }

  /** Ends the conversation. */
  ends(said) {
    this.#reply.resolve({ said });
  }

  /** The client sends no further request. */
  fail(error) {
    this.#reading.reject(error);
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = parsed(Buffer.concat(chunks).toString('utf8'));
    const { pathname } = new URL(request.url, 'http://model');
    this.requests.push({ method: request.method, path: request.url, body });
    const fixed = this.#dialect.fixed?.(pathname, body);
    if (fixed !== undefined) return send(response, fixed);
    const reading = this.#dialect.read(pathname, body);
    if (reading === undefined) return send(response, { status: 404, type: 'application/json', body: '{}' });
    const isTurn = reading.tools.some(({ name }) => name.endsWith('run_script'));
    const reply = isTurn ? await this.#turn(reading) : { said: 'A title' };
    send(response, this.#dialect.write(reply, body, pathname));
  }

  /** A client that repeats a request gets the same reply. */
  #turn(reading) {
    const { promise } = this.#reply;
    this.#reading.resolve(reading);
    return promise;
  }
}

function send(response, { status = 200, type, body }) {
  response.writeHead(status, { 'content-type': type });
  response.end(body);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A body of server-sent events. */
export function events(all) {
  const body = all.map(
    (event) => `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`,
  );
  return { type: 'text/event-stream', body: body.join('') };
}

function pending() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  // A failure may come while nobody waits.
  made.promise.catch(() => {});
  return made;
}
