import { ToolscriptUsageError, type SandboxRuntime } from '@toolscript/core/protocol';
import type { FastifyServerOptions } from 'fastify';
import type { AccessLimits, ModelConnections, RememberedRules, ScriptUndo } from '../access/index.js';
import type { Projection } from '@toolscript/service';
import type { AuthOptions } from './auth.js';
import type { McpEndpoint } from './routes/mcp.js';
import type { ServerPartsOptions } from './server-parts.js';

export const SERVER_ROLES = ['api', 'worker', 'persistence'] as const;
export type ServerRole = (typeof SERVER_ROLES)[number];

export interface ServerOptions extends ServerPartsOptions {
  readonly auth: AuthOptions;
  /**
   * Limits on the use of the server by one caller or from one address. The defaults are higher than ordinary users and
   * programs need.
   */
  readonly limits?: Partial<AccessLimits> | undefined;
  /**
   * The work of this process, if several processes share the stores and the log: `api` answers requests, `worker`
   * executes runs, `persistence` copies the events of runs from the log to the threads and deletes unneeded data.
   * Without `api`, only `/healthz`, `/readyz` and `/metrics` answer. Each role needs at least one process. Default: one
   * process does everything, and its worker writes the threads itself.
   */
  readonly roles?: readonly ServerRole[] | undefined;
  /**
   * A copy of all runs in another system. Every process needs this option, because each process also deletes threads
   * from the copy. Default: none.
   */
  readonly projection?: Projection | undefined;
  /** Maximum number of concurrent runs in this process. 0: other processes execute the runs. Default 8. */
  readonly workers?: number | undefined;
  /**
   * The folder or application to which new threads belong. This process claims only runs of this workspace and runs
   * without a workspace. Default: empty, which means no workspace.
   */
  readonly workspace?: string | undefined;
  /**
   * Maximum time for which runs continue while the server closes, in ms. Then they return to the queue. Default 6000.
   */
  readonly drainMs?: number | undefined;
  /** Approvals that apply to the whole workspace. Administrators add and delete them. Default: none. */
  readonly rules?: RememberedRules | undefined;
  /** The keys of providers of models. Administrators store and remove them. Default: the server stores none. */
  readonly models?: ModelConnections | undefined;
  /** Undoes the effects of scripts. Default: the effects cannot be undone. */
  readonly undo?: ScriptUndo | undefined;
  /**
   * The runtime that the harnesses share, for the metrics. Default: the runtime of `harness`; without a runtime, the
   * metrics do not cover sandboxes.
   */
  readonly sandbox?: Pick<SandboxRuntime, 'stats'> | undefined;
  /**
   * The options of pino, such as `{ level: 'info' }`; `false` logs nothing. Default: the server logs warnings and
   * errors to stderr. The server removes secrets from each line.
   */
  readonly logger?: FastifyServerOptions['logger'] | undefined;
  /** Logs one line for each request, at `info` if true, and at `debug` if false. Default: false. */
  readonly logRequests?: boolean | undefined;
  /** Texts that are never logged, in addition to the server's token, such as the keys of providers. */
  readonly secrets?: readonly string[] | undefined;
  /** Answers requests to `/mcp` after the server has checked them. Default: the path `/mcp` does not exist. */
  readonly mcp?: McpEndpoint | undefined;
  /**
   * A folder with the built web page, such as `dist` of `@toolscript/web`. Default: a page that shows how to call the
   * API.
   */
  readonly page?: string | undefined;
  /**
   * The path at which another app has mounted the server, such as `/agents`. The server removes this prefix from each
   * path. Default: none.
   */
  readonly basePath?: string | undefined;
}

export const DEFAULT_WORKERS = 8;
export const DEFAULT_DRAIN_MS = 6_000;

type CheckedOptions = Pick<ServerOptions, 'auth' | 'workers' | 'roles'> &
  Partial<Pick<ServerOptions, 'stores' | 'events'>>;

/** Throws a `ToolscriptUsageError` if the options are invalid. */
export function checkOptions({ auth, workers = DEFAULT_WORKERS, roles, stores, events }: CheckedOptions): void {
  if (auth.token === undefined && auth.keys === undefined && auth.authenticate === undefined)
    throw new ToolscriptUsageError('SERVER_WITHOUT_AUTHENTICATION');
  if (auth.token !== undefined && auth.token.length < 16) throw new ToolscriptUsageError('SERVER_TOKEN_TOO_SHORT');
  if (!Number.isInteger(workers) || workers < 0 || workers > 1000)
    throw new ToolscriptUsageError('SERVER_OPTION_NOT_IN_RANGE', {
      option: 'workers',
      value: workers,
      range: 'from 0 to 1000',
    });
  if (roles !== undefined && (roles.length === 0 || !roles.every((role) => SERVER_ROLES.includes(role))))
    throw new ToolscriptUsageError('SERVER_ROLES_INVALID', { known: SERVER_ROLES.join(', ') });
  if (roles !== undefined && (stores === 'memory:' || events === 'memory:'))
    throw new ToolscriptUsageError('SERVER_ROLES_IN_MEMORY');
}
