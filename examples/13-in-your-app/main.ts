import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nodeHandler } from '@toolscript/server';
import { openServer } from '../12-server/server.ts';

const token = 'a-token-of-your-own-choice';
const service = await openServer({ auth: { token }, basePath: '/agents' });
const agents = nodeHandler(service);

// Your own app. Express and Next hand over in the same way: app.use('/agents', agents).
const app = createHttpServer((request, response) => {
  if (request.url?.startsWith('/agents/')) return agents(request, response);
  response.end('your own page');
});
await once(app.listen(0, '127.0.0.1'), 'listening');
const { port } = app.address() as AddressInfo;
const url = `http://127.0.0.1:${port}`;

console.log(await (await fetch(url)).text());
const response = await fetch(`${url}/agents/api/v2/agents`, { headers: { authorization: `Bearer ${token}` } });
const { data } = (await response.json()) as { data: { agentId: string; description: string }[] };
for (const { agentId, description } of data) console.log(`${agentId}: ${description}`);
console.log((await fetch(`${url}/agents/api/v2/agents`)).status);

app.close();
app.closeAllConnections();
await service.close();
