import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createExec } from '#tools/exec/exec.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { sandboxProblem } from '@toolscript/testkit/exec-sandbox';
import { newFolder } from '@toolscript/testkit/folder';

/** Sends a request to the proxy that the environment names, like programs that use such a proxy. */
const ask = (url: string): string => `
  const proxy = new URL(process.env.HTTP_PROXY);
  const token = 'Basic ' + Buffer.from(decodeURIComponent(proxy.username) + ':' + proxy.password).toString('base64');
  require('http').get({ host: proxy.hostname, port: proxy.port, path: ${JSON.stringify(url)}, headers: { host: new URL(${JSON.stringify(url)}).host, 'proxy-authorization': token } },
    (answer) => { answer.on('data', (piece) => process.stdout.write(piece)); answer.on('end', () => process.stdout.write(' ' + answer.statusCode)); });`;

it.runIf(sandboxProblem === undefined)(
  'a command reaches only allowed hosts, and another set of tools reaches none',
  async () => {
    const server = createServer((_, response) => response.end('served')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const workspace = createWorkspace({ roots: newFolder() });
    const some = createExec(workspace, { network: { allow: ['localhost'] } });
    const none = createExec(workspace);
    const run = (exec: typeof some, url: string) => exec({ command: [process.execPath, '-e', ask(url)] });
    expect(await run(some, `http://localhost:${port}/`)).toMatchObject({ stdout: 'served 200', stderr: '' });
    expect(await run(some, `http://127.0.0.2:${port}/`)).toMatchObject({ stdout: expect.stringMatching(/403$/) });
    expect(await run(none, `http://localhost:${port}/`)).toMatchObject({ stdout: '' });
    server.close();
  },
);
