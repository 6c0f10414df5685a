import type { StreamEvent } from '@toolscript/core/stream';
import createFetchClient from 'openapi-fetch';
import { streamBatches, streamChanges, type StreamOptions, type StreamRequest } from './event-stream.js';
import { LiveResponse } from './live-response.js';
import type { paths } from './openapi.js';
import { responseProblem } from './problem-error.js';
import type {
  AgentPage,
  ApiKeyDraft,
  ApiKeyPage,
  Approval,
  ApprovalPage,
  ApprovalQuery,
  AuditPage,
  AuditQuery,
  Decision,
  FilePage,
  FileQuery,
  NewApiKey,
  Provider,
  RulePage,
  Run,
  SavedKind,
  SavedOwner,
  SavedPage,
  SavedQuery,
  SavedText,
  ScriptOutcome,
  ScriptQuery,
  SubmitBody,
  SubmittedRun,
  Thread,
  ThreadFile,
  ThreadPage,
  ThreadQuery,
  ThreadSummary,
  ToolPage,
  UndoDirection,
  UndoReport,
} from './types.js';

export interface ClientOptions {
  /** The address of the server, such as `http://127.0.0.1:4100`. */
  readonly baseUrl: string;
  readonly token: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends RequestOptions {
  /** A request with the same key and body does not start a second run. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * Each method rejects with a `ProblemError` if the server refuses the request, and with the error of `fetch` if the
 * server cannot be reached.
 */
export interface Client {
  /** Starts a run. */
  submit(body: SubmitBody, options?: SubmitOptions): Promise<SubmittedRun>;
  /** The events of a run, each once and in order, until the run has ended. The stream reconnects automatically. */
  stream(runId: string, options?: StreamOptions): AsyncIterable<StreamEvent>;
  /** The response of a run, updated until the run has ended. */
  response(runId: string, options?: Omit<StreamOptions, 'from'>): LiveResponse;
  /** Yields at the start, after each change of the lists of threads and approvals, and after each new connection. */
  changes(options?: Omit<StreamOptions, 'from'>): AsyncIterable<void>;
  readonly threads: {
    /** Lists threads, the most recently changed one first. */
    list(query?: ThreadQuery, options?: RequestOptions): Promise<ThreadPage>;
    /** With `operations: 'full'`, the answer includes the arguments and results of calls. */
    get(
      threadId: string,
      query?: { readonly operations?: 'summary' | 'full' | undefined },
      options?: RequestOptions,
    ): Promise<Thread>;
    rename(threadId: string, title: string, options?: RequestOptions): Promise<ThreadSummary>;
    delete(threadId: string, options?: RequestOptions): Promise<void>;
  };
  /** The File Cabinet of a thread. */
  readonly files: {
    /** Lists the files by key, each with its newest version. */
    list(threadId: string, query?: FileQuery, options?: RequestOptions): Promise<FilePage>;
    /** The stored versions, the newest first. */
    versions(threadId: string, fileKey: string, options?: RequestOptions): Promise<readonly ThreadFile[]>;
    /** The text of a version. Default: the newest version. */
    text(
      threadId: string,
      fileKey: string,
      query?: { readonly version?: number | undefined },
      options?: RequestOptions,
    ): Promise<string>;
    /** Deletes all versions. */
    delete(threadId: string, fileKey: string, options?: RequestOptions): Promise<void>;
  };
  /** Saved prompts and scripts: your own, those of the workspace, or those of a thread. */
  readonly saved: {
    list(kind: SavedKind, query?: SavedQuery, options?: RequestOptions): Promise<SavedPage>;
    /** The newest version, with its text. */
    get(kind: SavedKind, name: string, query?: SavedOwner, options?: RequestOptions): Promise<SavedText>;
    /** Deletes all versions. */
    delete(kind: SavedKind, name: string, query?: SavedOwner, options?: RequestOptions): Promise<void>;
  };
  readonly runs: {
    get(runId: string, options?: RequestOptions): Promise<Run>;
    /** An image that a result of the run names by its SHA-256. */
    image(runId: string, sha256: string, options?: RequestOptions): Promise<Blob>;
    /** Requests the cancellation of a run. The run ends soon after the request. */
    cancel(runId: string, options?: RequestOptions): Promise<Run>;
  };
  readonly approvals: {
    /** Lists approvals, the oldest one first. Default: the pending ones. */
    list(query?: ApprovalQuery, options?: RequestOptions): Promise<ApprovalPage>;
    get(approvalId: string, options?: RequestOptions): Promise<Approval>;
    /**
     * The first decision wins. A later call rejects with status 409, and `problem.approval` is the decided approval.
     */
    decide(approvalId: string, decision: Decision, options?: RequestOptions): Promise<Approval>;
    /**
     * The calls that `remember: 'workspace'` would allow; undefined if the caller may not store a rule, or if the
     * server stores no rules.
     */
    rule(approvalId: string, options?: RequestOptions): Promise<string | undefined>;
  };
  readonly agents: { list(options?: RequestOptions): Promise<AgentPage> };
  readonly audit: {
    /**
     * Lists the caller's entries, the newest one first. With the scope `admin`, lists the entries of all principals.
     */
    list(query?: AuditQuery, options?: RequestOptions): Promise<AuditPage>;
  };
  /** Each method needs the scope `admin`. */
  readonly keys: {
    /** Lists the keys without their tokens, the oldest key first. */
    list(options?: RequestOptions): Promise<ApiKeyPage>;
    /** The response contains the key's token, which is never shown again. */
    add(draft: ApiKeyDraft, options?: RequestOptions): Promise<NewApiKey>;
    revoke(keyId: string, options?: RequestOptions): Promise<void>;
  };
  /** The providers of models. Each method needs the scope `admin`. */
  readonly providers: {
    list(options?: RequestOptions): Promise<readonly Provider[]>;
    /** Tests the key, stores it, and returns the models of the provider. */
    connect(provider: string, key: string, options?: RequestOptions): Promise<readonly string[]>;
    /** Removes the stored key. */
    remove(provider: string, options?: RequestOptions): Promise<void>;
  };
  /** Remembered approvals of the server's workspace. Each method needs the scope `admin`. */
  readonly rules: {
    list(options?: RequestOptions): Promise<RulePage>;
    delete(ruleId: string, options?: RequestOptions): Promise<void>;
  };
  /** Waits for scripts, cancels them, and undoes their effects. */
  readonly scripts: {
    /**
     * The outcome of a script. `waitMs`: the maximum time that the server waits for the end of a script that runs, at
     * most 30 000 ms. Default 0.
     */
    get(scriptId: string, query?: ScriptQuery, options?: RequestOptions): Promise<ScriptOutcome>;
    /** Cancels a script. Returns its end, also if it had ended before. */
    cancel(scriptId: string, options?: RequestOptions): Promise<ScriptOutcome>;
    /** Returns the changes that an undo would make, with their diffs, but makes none of them. */
    previewUndo(scriptId: string, direction?: UndoDirection, options?: RequestOptions): Promise<UndoReport>;
    /**
     * Undoes all recorded changes to files or none, and then the calls that can be undone. If the server refuses, the
     * method rejects with status 409, and `problem.undo` has the reasons.
     */
    undo(
      scriptId: string,
      body?: { readonly direction?: UndoDirection | undefined; readonly planId?: string | undefined },
      options?: RequestOptions,
    ): Promise<UndoReport>;
  };
  readonly tools: {
    list(query?: { readonly agentId?: string | undefined }, options?: RequestOptions): Promise<ToolPage>;
  };
}

type Api = ReturnType<typeof createFetchClient<paths>>;

export function createClient({ baseUrl, token, fetch = globalThis.fetch }: ClientOptions): Client {
  const root = new URL(baseUrl).href.replace(/\/$/u, '');
  const headers = { authorization: `Bearer ${token}` };
  // In a browser, the global `fetch` must be called without a receiver.
  const send: typeof globalThis.fetch = (input, init) => fetch(input, init);
  const api = createFetchClient<paths>({ baseUrl: root, headers, fetch: send });
  const open = (runId: string) => (request: StreamRequest) => send(...streamRequest(root, headers, runId, request));
  return {
    submit: (body, { idempotencyKey, signal } = {}) =>
      answerData(
        api.POST('/api/v2/submit', {
          body: body as never,
          params: { header: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey } },
          ...withSignal(signal),
        }),
      ),
    stream: (runId, options = {}) => flattenBatches(streamBatches(open(runId), options)),
    response: (runId, options = {}) => new LiveResponse(runId, streamBatches(open(runId), options)),
    changes: (options = {}) =>
      streamChanges(
        ({ signal }) => send(`${root}/api/v2/changes`, { headers: eventHeaders(headers), signal }),
        options,
      ),
    keys: keyMethods(api),
    providers: providerMethods(api),
    rules: ruleMethods(api),
    scripts: scriptMethods(api),
    threads: threadMethods(api),
    files: fileMethods(api),
    saved: savedMethods(api),
    runs: runMethods(api),
    approvals: approvalMethods(api),
    agents: { list: ({ signal } = {}) => answerData(api.GET('/api/v2/agents', withSignal(signal))) },
    audit: {
      list: (query = {}, { signal } = {}) =>
        answerData(api.GET('/api/v2/audit', { params: { query }, ...withSignal(signal) })),
    },
    tools: {
      list: (query = {}, { signal } = {}) =>
        answerData(api.GET('/api/v2/tools', { params: { query }, ...withSignal(signal) })),
    },
  };
}

function threadMethods(api: Api): Client['threads'] {
  const one = '/api/v2/threads/{threadId}';
  return {
    list: (query = {}, { signal } = {}) =>
      answerData(api.GET('/api/v2/threads', { params: { query }, ...withSignal(signal) })),
    get: (threadId, query = {}, { signal } = {}) =>
      answerData(api.GET(one, { params: { path: { threadId }, query }, ...withSignal(signal) })) as Promise<Thread>,
    rename: (threadId, title, { signal } = {}) =>
      answerData(api.PATCH(one, { params: { path: { threadId } }, body: { title }, ...withSignal(signal) })),
    delete: async (threadId, { signal } = {}) =>
      void (await answerData(api.DELETE(one, { params: { path: { threadId } }, ...withSignal(signal) }))),
  };
}

function fileMethods(api: Api): Client['files'] {
  const all = '/api/v2/threads/{threadId}/files';
  const one = `${all}/{fileKey}` as const;
  return {
    list: (threadId, query = {}, { signal } = {}) =>
      answerData(api.GET(all, { params: { path: { threadId }, query }, ...withSignal(signal) })),
    versions: async (threadId, fileKey, { signal } = {}) => {
      const params = { path: { threadId, fileKey } };
      return (await answerData(api.GET(one, { params, ...withSignal(signal) }))).data;
    },
    text: (threadId, fileKey, query = {}, { signal } = {}) => {
      const params = { path: { threadId, fileKey }, query };
      return answerData(
        api.GET(`${one}/text`, { params, parseAs: 'text', ...withSignal(signal) }),
      ) as Promise<unknown> as Promise<string>;
    },
    delete: async (threadId, fileKey, { signal } = {}) =>
      void (await answerData(api.DELETE(one, { params: { path: { threadId, fileKey } }, ...withSignal(signal) }))),
  };
}

function savedMethods(api: Api): Client['saved'] {
  const all = '/api/v2/saved/{kind}';
  const one = `${all}/{name}` as const;
  return {
    list: (kind, query = {}, { signal } = {}) =>
      answerData(api.GET(all, { params: { path: { kind }, query }, ...withSignal(signal) })),
    get: (kind, name, query = {}, { signal } = {}) =>
      answerData(api.GET(one, { params: { path: { kind, name }, query }, ...withSignal(signal) })),
    delete: async (kind, name, query = {}, { signal } = {}) =>
      void (await answerData(api.DELETE(one, { params: { path: { kind, name }, query }, ...withSignal(signal) }))),
  };
}

function runMethods(api: Api): Client['runs'] {
  return {
    get: (runId, { signal } = {}) =>
      answerData(api.GET('/api/v2/runs/{runId}', { params: { path: { runId } }, ...withSignal(signal) })),
    image: (runId, sha256, { signal } = {}) =>
      answerData(
        api.GET('/api/v2/runs/{runId}/images/{sha256}', {
          params: { path: { runId, sha256 } },
          parseAs: 'blob',
          ...withSignal(signal),
        }),
      ) as Promise<Blob>,
    cancel: (runId, { signal } = {}) =>
      answerData(api.POST('/api/v2/runs/{runId}/cancel', { params: { path: { runId } }, ...withSignal(signal) })),
  };
}

function approvalMethods(api: Api): Client['approvals'] {
  const one = '/api/v2/approvals/{approvalId}';
  return {
    list: (query = {}, { signal } = {}) =>
      answerData(api.GET('/api/v2/approvals', { params: { query }, ...withSignal(signal) })),
    get: (approvalId, { signal } = {}) =>
      answerData(api.GET(one, { params: { path: { approvalId } }, ...withSignal(signal) })),
    decide: (approvalId, decision, { signal } = {}) =>
      answerData(api.POST(one, { params: { path: { approvalId } }, body: decision, ...withSignal(signal) })),
    rule: async (approvalId, { signal } = {}) => {
      const path = `${one}/rule` as const;
      const { covers } = await answerData(api.GET(path, { params: { path: { approvalId } }, ...withSignal(signal) }));
      return covers;
    },
  };
}

function keyMethods(api: Api): Client['keys'] {
  return {
    list: ({ signal } = {}) => answerData(api.GET('/api/v2/keys', withSignal(signal))),
    add: (draft, { signal } = {}) => answerData(api.POST('/api/v2/keys', { body: draft, ...withSignal(signal) })),
    revoke: async (keyId, { signal } = {}) =>
      void (await answerData(
        api.DELETE('/api/v2/keys/{keyId}', { params: { path: { keyId } }, ...withSignal(signal) }),
      )),
  };
}

function providerMethods(api: Api): Client['providers'] {
  const one = '/api/v2/providers/{provider}';
  return {
    list: async ({ signal } = {}) => (await answerData(api.GET('/api/v2/providers', withSignal(signal)))).data,
    connect: async (provider, key, { signal } = {}) => {
      const request = { params: { path: { provider } }, body: { key }, ...withSignal(signal) };
      return (await answerData(api.PUT(one, request))).models;
    },
    remove: async (provider, { signal } = {}) =>
      void (await answerData(api.DELETE(one, { params: { path: { provider } }, ...withSignal(signal) }))),
  };
}

function ruleMethods(api: Api): Client['rules'] {
  return {
    list: ({ signal } = {}) => answerData(api.GET('/api/v2/rules', withSignal(signal))),
    delete: async (ruleId, { signal } = {}) =>
      void (await answerData(
        api.DELETE('/api/v2/rules/{ruleId}', { params: { path: { ruleId } }, ...withSignal(signal) }),
      )),
  };
}

function scriptMethods(api: Api): Client['scripts'] {
  const script = '/api/v2/scripts/{scriptId}';
  const undo = `${script}/undo` as const;
  return {
    get: (scriptId, query = {}, { signal } = {}) =>
      answerData(api.GET(script, { params: { path: { scriptId }, query }, ...withSignal(signal) })),
    cancel: (scriptId, { signal } = {}) =>
      answerData(api.POST(`${script}/cancel`, { params: { path: { scriptId } }, ...withSignal(signal) })),
    previewUndo: (scriptId, direction = 'undo', { signal } = {}) =>
      answerData(api.GET(undo, { params: { path: { scriptId }, query: { direction } }, ...withSignal(signal) })),
    undo: (scriptId, { direction = 'undo', planId } = {}, { signal } = {}) =>
      answerData(
        api.POST(undo, {
          params: { path: { scriptId } },
          body: { direction, planId },
          ...withSignal(signal),
        }),
      ),
  };
}

function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

interface FetchResult<Data> {
  readonly data?: Data | undefined;
  readonly error?: unknown;
  readonly response: Response;
}

async function answerData<Data>(call: Promise<FetchResult<Data>>): Promise<Data> {
  const { data, error, response } = await call;
  if (!response.ok) throw responseProblem(response, error);
  return data as Data;
}

async function* flattenBatches(
  batches: AsyncIterable<readonly StreamEvent[]>,
): AsyncGenerator<StreamEvent, void, undefined> {
  for await (const events of batches) yield* events;
}

function eventHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return { ...headers, accept: 'text/event-stream' };
}

function streamRequest(
  root: string,
  headers: Readonly<Record<string, string>>,
  runId: string,
  { from, lastSeq, signal }: StreamRequest,
): [string, RequestInit] {
  const url = `${root}/api/v2/stream/${encodeURIComponent(runId)}`;
  const accept = eventHeaders(headers);
  if (lastSeq !== undefined) return [url, { headers: { ...accept, 'last-event-id': String(lastSeq) }, signal }];
  return [from === 0 ? url : `${url}?from=${from}`, { headers: accept, signal }];
}
