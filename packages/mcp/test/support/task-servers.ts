import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { McpServer as NewestServer, ProtocolError } from '@modelcontextprotocol/server';
import { McpServer as CoreServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { until } from '@toolscript/testkit/until';
import { z } from 'zod';
import { listen, listenNewest } from './http-servers.js';

type Report = Record<string, unknown>;

/** A server whose tool `work` runs as a task of the extension of 2026-07-28. The test writes the reports of the task. */
export class ExtensionTasks {
  /** The methods of the requests about tasks, and their parameters. */
  readonly asked: { method: string; params: Report }[] = [];
  readonly #reports = new Map<string, Report>();
  /** The number of calls that have started. */
  get started(): number {
    return this.#reports.size;
  }

  /** Changes the report of every task. */
  report(change: Report): void {
    for (const [id, report] of this.#reports) this.#reports.set(id, { ...report, ...change });
  }

  forget(): void {
    this.#reports.clear();
  }

  times(method: string): number {
    return this.asked.filter((each) => each.method === method).length;
  }

  /** Resolves when the client has asked for the report so often. */
  async looked(times = 1): Promise<void> {
    await until(() => this.times('tasks/get') >= times);
  }

  async listen(): Promise<{ url: string; requests: IncomingMessage[] }> {
    return listenNewest(() => this.#make(), { legacy: 'reject' });
  }

  #make(): NewestServer {
    const made = new NewestServer(
      { name: 'tasks', version: '1.0.0' },
      { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    );
    made.registerTool('work', { description: 'Works', inputSchema: z.object({}) }, () => {
      const taskId = randomUUID();
      const now = new Date().toISOString();
      const report = { taskId, status: 'working', createdAt: now, lastUpdatedAt: now, ttlMs: null, pollIntervalMs: 20 };
      this.#reports.set(taskId, report);
      return { ...report, resultType: 'task' } as never;
    });
    const params = z.looseObject({ taskId: z.string() });
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      made.server.setRequestHandler(method, { params }, (given, { mcpReq }) => {
        this.asked.push({ method, params: { ...given, inputResponses: mcpReq.inputResponses } });
        const report = this.#reports.get(given.taskId);
        if (report === undefined) throw new ProtocolError(-32_602, 'Task not found');
        return method === 'tasks/get' ? report : {};
      });
    return made;
  }
}

/** A server of the protocol 2025-11-25 with the tool `work`, which requires a task. */
export class CoreTasks {
  readonly store = new InMemoryTaskStore();
  readonly #queue = new InMemoryTaskMessageQueue();
  readonly #sessions = new Map<string, StreamableHTTPServerTransport>();
  readonly tasks: string[] = [];
  taskSupport: 'required' | 'optional' = 'required';
  /** The work of a task. */
  work: (taskId: string, server: CoreServer) => Promise<void> = async () => {};

  async listen(): Promise<{ url: string }> {
    const url = await listen(async (request, response) => {
      const id = request.headers['mcp-session-id'];
      const known = this.#sessions.get(String(id));
      if (id !== undefined && known === undefined) return response.writeHead(404).end();
      const transport =
        known ??
        new StreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized: (session) => void this.#sessions.set(session, transport),
        });
      if (known === undefined) await this.#make().connect(transport as never);
      return transport.handleRequest(request, response);
    });
    return { url };
  }

  /** Ends every session. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  #make(): CoreServer {
    const made = new CoreServer(
      { name: 'core-tasks', version: '1.0.0' },
      {
        taskStore: withoutSessions(this.store),
        taskMessageQueue: this.#queue,
        capabilities: { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
      },
    );
    made.experimental.tasks.registerToolTask(
      'work',
      { description: 'Works', execution: { taskSupport: this.taskSupport } },
      {
        createTask: async ({ taskStore }) => {
          const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
          this.tasks.push(task.taskId);
          void this.work(task.taskId, made);
          return { task };
        },
        getTask: async ({ taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as never,
      },
    );
    return made;
  }
}

/** The store for tasks that outlive their session. */
function withoutSessions(store: InMemoryTaskStore): InMemoryTaskStore {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function') return member;
      const lengths: Record<string, number> = { createTask: 3, getTask: 1, getTaskResult: 1, storeTaskResult: 3 };
      const length = lengths[String(name)] ?? (name === 'updateTaskStatus' ? 3 : 1);
      return (...given: unknown[]) => (member as (...all: unknown[]) => unknown).apply(target, given.slice(0, length));
    },
  });
}
