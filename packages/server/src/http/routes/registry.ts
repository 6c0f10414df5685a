import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { AgentSchema, pageSchema, ToolSchema } from '../schemas.js';
import type { Service } from '../service.js';
import { agentView, toolView } from '../views.js';
import { requireAgent } from './submit.js';

/** Routes that show the agents and the tools. */
export function registryRoutes(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/agents',
    config: { scope: 'read' },
    schema: { operationId: 'listAgents', description: 'Lists the agents.', response: { 200: pageSchema(AgentSchema) } },
    handler: async () => {
      const [agents, byDefault] = await Promise.all([service.agents.list(), service.agents.find()]);
      return { data: agents.map((agent) => agentView(agent, agent.config.slug === byDefault?.config.slug)) };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/v2/tools',
    config: { scope: 'read' },
    schema: {
      operationId: 'listTools',
      description: 'Lists the tools of an agent. Default: those of the default agent.',
      querystring: z.object({ agentId: z.string().max(64).optional() }),
      response: { 200: pageSchema(ToolSchema) },
    },
    handler: async ({ query: { agentId } }) => {
      const served = await requireAgent(service, agentId);
      const { harness } = await served.open({});
      const catalog = harness.catalog();
      return { data: harness.tools().map((tool) => toolView(tool, catalog)) };
    },
  });
}
