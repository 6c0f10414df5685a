import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends bytes unchanged, as no HTTP client does, and reads the answer until the connection ends. */
export function sendRaw(url: string, text: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname.replace(/^\[|\]$/gu, ''));
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    // A server that refuses a body may close the connection before all of it is sent.
    socket.on('error', () => {}).on('close', () => resolve(answerIn(received)));
    socket.write(text);
  });
}

/** A request with these lines as its headers; the connection ends after it. */
export function rawRequest(line: string, headers: readonly string[], body = ''): string {
  return [line, ...headers, 'Connection: close', '', body].join('\r\n');
}

function answerIn(text: string): RawAnswer {
  const [head = '', ...body] = text.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = lines
    .map((one) => /^(.*?): ?(.*)$/u.exec(one)!)
    .map(([, name, value]) => [name!.toLowerCase(), value!]);
  return { status: Number(line.split(' ')[1]), headers: Object.fromEntries(headers), body: body.join('\r\n\r\n') };
}
