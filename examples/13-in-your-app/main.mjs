import { createServer as createHttpServer } from 'node:http';
import { nodeHandler } from '@toolscript/server';
import { openServer } from '../12-server/server.mjs';

const token = 'a-token-of-your-own-choice';
const service = await openServer({ auth: { token }, basePath: '/agents' });
const agents = nodeHandler(service);

// Your own app. Express and Next hand over in the same way: app.use('/agents', agents).
const app = createHttpServer((request, response) => {
  if (request.url.startsWith('/agents/')) return agents(request, response);
  response.end('your own page');
});
await new Promise((resolve) => app.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${app.address().port}`;

console.log(await (await fetch(url)).text());
const response = await fetch(`${url}/agents/api/v2/agents`, { headers: { authorization: `Bearer ${token}` } });
for (const { agentId, description } of (await response.json()).data) console.log(`${agentId}: ${description}`);
console.log((await fetch(`${url}/agents/api/v2/agents`)).status);

app.close();
app.closeAllConnections();
await service.close();
