import type { ToolCatalog } from '@toolscript/core';
import {
  fileAbout,
  present,
  type Approval,
  type DocumentInfo,
  type OutputItem,
  type Run,
  type Thread,
  type Tool,
  type TurnItems,
} from '@toolscript/core/protocol';
import type { ServedAgent } from '../agents/index.js';

/** The API's form of stored records. */

export function threadView({ principal: _principal, workspace: _workspace, ...thread }: Thread) {
  return thread;
}

export function fileView(info: DocumentInfo) {
  const { title, contentType, source } = fileAbout(info);
  const { name: fileKey, version, bytes, createdAt, expiresAt } = info;
  const from = source && { kind: source.kind, ...present({ url: source.url }) };
  return { fileKey, version, bytes, createdAt, ...present({ title, contentType, source: from, expiresAt }) };
}

export function wholeThreadView(thread: Thread, turns: readonly TurnItems[], operations: 'summary' | 'full') {
  const items = turns.flatMap((turn) => turn.items);
  return {
    ...threadView(thread),
    runs: turns.map(({ runId, turnId, state }) => ({ runId, turnId, status: state })),
    items: operations === 'full' ? items : items.map(summaryOf),
  };
}

/** The item with its operations, but without their inputs and results. */
function summaryOf(item: OutputItem): OutputItem {
  if (item.type !== 'script_execution_output') return item;
  const operations = item.operations.map(({ input: _input, result: _result, ...operation }) => operation);
  return { ...item, operations: operations as typeof item.operations };
}

export function runView(run: Run) {
  const { runId, turnId, threadId, state, options, createdAt, updatedAt, cancelRequestedAt, error } = run;
  const { agentId } = options as { agentId?: string };
  return {
    runId,
    turnId,
    threadId,
    status: state,
    createdAt,
    updatedAt,
    ...(agentId === undefined ? {} : { agentId }),
    ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
    ...(error === undefined ? {} : { error }),
  };
}

export function approvalView({ principal: _principal, request, ...approval }: Approval) {
  return { ...request, ...approval };
}

export function agentView({ config, problem }: ServedAgent, isDefault: boolean) {
  const { slug, name = slug, description, provider, carrier, mode, tools, pack, contextWindow, maxTurns } = config;
  const optional = Object.entries({ mode, tools, pack, contextWindow }).filter(([, value]) => value !== undefined);
  return {
    agentId: slug,
    name,
    ...(description === undefined ? {} : { description }),
    ...(provider === undefined ? {} : { model: provider.model }),
    isDefault,
    ...(problem === undefined ? {} : { problem }),
    capabilities: { carrier, maxTurns, ...Object.fromEntries(optional) },
  };
}

export function toolView(
  { name, description, effect, approval, inputSchema, outputSchema }: Tool,
  catalog: Pick<ToolCatalog, 'describe'>,
) {
  return {
    name,
    description,
    effect,
    approval: typeof approval === 'function' ? 'depends' : approval,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    declaration: catalog.describe(name) ?? '',
  };
}
