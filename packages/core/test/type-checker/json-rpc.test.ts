import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonRpc } from '#core/script/check/checker-process.js';
import { tries } from '@toolscript/testkit/some-cases';

const frame = (message: object) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
};

function connect(answer: (method: string, parameter: unknown) => unknown = () => null) {
  const input = new PassThrough();
  const output = new PassThrough();
  return { input, output, rpc: new JsonRpc(input, output, answer) };
}

describe('frames', () => {
  it('are read in the same way however their bytes arrive', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { minLength: 1, maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        async (results, cuts) => {
          const { input, rpc } = connect();
          const asked = results.map(() => rpc.request('method', null));
          const bytes = Buffer.concat(results.map((result, index) => frame({ id: index + 1, result })));
          for (let at = 0, cut = 0; at < bytes.length; cut++) {
            const end = at + cuts[cut % cuts.length]!;
            input.write(bytes.subarray(at, end));
            at = end;
          }
          expect(await Promise.all(asked)).toEqual(results.map((result) => JSON.parse(JSON.stringify(result))));
        },
      ),
      { numRuns: tries(200) },
    );
  });

  it('that are malformed end the connection for all requests', async () => {
    const { input, rpc } = connect();
    const asked = rpc.request('method', null);
    input.write('Content-Type: nothing\r\n\r\n{}');
    await expect(asked).rejects.toThrow('violates JSON-RPC');
    await expect(rpc.request('later', null)).rejects.toThrow('violates JSON-RPC');
  });
});

describe('a request', () => {
  it('of the other side is answered under its own id', async () => {
    const { input, output } = connect((method, parameter) => `${method} ${String(parameter)}`);
    const answered = new Promise<string>((resolve) => output.once('data', (bytes: Buffer) => resolve(String(bytes))));
    input.write(frame({ id: 'api1', method: 'readFile', params: '/a' }));
    expect(await answered).toContain('{"jsonrpc":"2.0","id":"api1","result":"readFile /a"}');
  });

  it('that the other side rejects fails with its message', async () => {
    const { input, rpc } = connect();
    const asked = rpc.request('method', null);
    input.write(frame({ id: 1, error: { code: -1, message: 'no such method' } }));
    await expect(asked).rejects.toThrow('no such method');
  });

  it('is rejected if the other side is gone, now or earlier', async () => {
    const { rpc } = connect();
    const asked = rpc.request('method', null);
    rpc.fail(new Error('it ended'));
    await expect(asked).rejects.toThrow('it ended');
    await expect(rpc.request('later', null)).rejects.toThrow('it ended');
  });
});
