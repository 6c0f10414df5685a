import { pageFolder } from '@toolscript/web';
import { openTestServer, TOKEN, type TestServerOptions } from '../../../server/test/support/test-server.js';
import { pageAgent, type Scenes } from './page-agent.js';

/** A server with the page, the demo agent and an agent that plays scenes. */
export async function openPageServer(scenes: Scenes = {}, options: TestServerOptions = {}) {
  const server = await openTestServer({
    agents: (parts) => [pageAgent(parts, scenes)],
    page: pageFolder,
    ...options,
  });
  /** Starts a run of the agent `scenes`. */
  const play = async (prompt: string, more: Record<string, unknown> = {}) => {
    const { body, status } = await server.call('POST', '/api/v2/submit', { prompt, agentId: 'scenes', ...more });
    if (status !== 202) throw new Error(JSON.stringify(body));
    return body as { runId: string; threadId: string };
  };
  return { ...server, token: TOKEN, play };
}

export type PageServer = Awaited<ReturnType<typeof openPageServer>>;
