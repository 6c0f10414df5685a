import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileStore, type HarnessOptions } from '@toolscript/core';
import type { ServiceStores, StreamEvent } from '@toolscript/core/protocol';
import {
  AuditFile,
  createServer,
  demoAgent,
  fixedAgents,
  type ServedAgent,
  type ServerOptions,
} from '@toolscript/server';
import { openEventLog, openStores } from '@toolscript/service/stores';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

export const TOKEN = 'test-token-of-the-server';

/** The key of suspended scripts in all test servers. */
export const SUSPENSION_KEY = new Uint8Array(32).fill(7);

type HarnessParts = Pick<HarnessOptions, 'store' | 'suspensionKey' | 'audit'>;

export interface TestServerOptions extends Partial<Omit<ServerOptions, 'agents' | 'stores'>> {
  /** Agents in addition to the demo, which is the first. */
  agents?: (parts: HarnessParts) => readonly ServedAgent[] | Promise<readonly ServedAgent[]>;
  /** The only agents, without the demo. */
  onlyAgents?: readonly ServedAgent[];
  /** Replaces those of the folder. */
  stores?: ServiceStores;
  /** The data of an earlier test server, for another one. */
  folder?: string;
  /** Default: a free one. */
  port?: number;
}

interface Answer {
  readonly status: number;
  // Each test reads the members that it needs.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
  readonly headers: Headers;
}

/** A server over libsql in a separate folder, at a free port of this machine. */
export async function openTestServer({
  agents,
  onlyAgents,
  folder,
  port = 0,
  scripts: given,
  ...options
}: TestServerOptions = {}) {
  const data = folder ?? mkdtempSync(join(tmpdir(), 'toolscript-server-'));
  const stores = await openStores(`libsql:${join(data, 'toolscript.db')}`);
  const events = await openEventLog(`libsql:${join(data, 'toolscript.db')}`);
  const scripts = given ?? fileStore(join(data, 'scripts'));
  const audit = new AuditFile(join(data, 'audit.jsonl'));
  const parts = { ...sharedThreads(), store: scripts, suspensionKey: SUSPENSION_KEY, audit: audit.append };
  const demo = demoAgent(parts);
  const served: readonly (ServedAgent & { close?: () => Promise<void> })[] = [demo, ...((await agents?.(parts)) ?? [])];
  const app = await createServer({
    stores,
    events,
    scripts,
    audit,
    agents: fixedAgents(onlyAgents ?? served),
    auth: { token: TOKEN },
    logger: false,
    ...options,
  });
  await app.listen({ host: '127.0.0.1', port });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  const close = async ({ keepsData = false } = {}) => {
    await app.close();
    for (const agent of served) await agent.close?.();
    await events.close();
    await stores.close();
    audit.close();
    if (!keepsData) rmSync(data, { recursive: true, force: true });
  };
  return { url, app, ...testClient(url), close, stores, events, scripts, folder: data };
}

export type TestServer = Awaited<ReturnType<typeof openTestServer>>;

/** Sends requests to a server, as the user of this machine. */
export function testClient(url: string) {
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? undefined : JSON.parse(text),
      headers: response.headers,
    } as Answer;
  };

  /**
   * The events of a run until its stream ends, or until `isLast` returns true. `lastEventId`: those after this one, as a
   * browser asks for them. `maxMs`: it is interrupted after this time.
   */
  const follow = async (runId: string, options: FollowOptions = {}): Promise<StreamEvent[]> => {
    const { from = 0, lastEventId = -1, isLast = () => false, maxMs } = options;
    const stop = new AbortController();
    const place = lastEventId < 0 ? `?from=${from}` : '';
    const response = await fetch(`${url}/api/v2/stream/${runId}${place}`, {
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(lastEventId < 0 ? {} : { 'last-event-id': String(lastEventId) }),
      },
      signal: maxMs === undefined ? stop.signal : AbortSignal.any([stop.signal, AbortSignal.timeout(maxMs)]),
    });
    const found: StreamEvent[] = [];
    for await (const event of eventsIn(response)) {
      found.push(event);
      if (isLast(event)) break;
    }
    stop.abort();
    return found;
  };
  return { call, follow };
}

interface FollowOptions {
  readonly from?: number;
  readonly lastEventId?: number;
  readonly isLast?: (event: StreamEvent) => boolean;
  readonly maxMs?: number;
}

export type TestClient = ReturnType<typeof testClient>;

/** The events of a response with server-sent events. */
async function* eventsIn(response: Response): AsyncGenerator<StreamEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop()!;
    for (const frame of frames) {
      const data = /^data: (.*)$/mu.exec(frame)?.[1];
      if (data !== undefined) yield JSON.parse(data) as StreamEvent;
    }
  }
}
