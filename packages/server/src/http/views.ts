import type { ToolCatalog } from '@toolscript/core';
import { fileAbout } from '@toolscript/core/internal';
import type { DocumentInfo } from '@toolscript/core/ports';
import type { Approval, OutputItem, Run, Thread, Tool } from '@toolscript/core/protocol';
import { allowedModels, type ServedAgent } from '@toolscript/service';

/** The API's form of stored records. */

export function threadView({ principal: _principal, workspace: _workspace, ...thread }: Thread) {
  return thread;
}

export function fileView(info: DocumentInfo) {
  const { title, contentType, source } = fileAbout(info);
  const { name: fileKey, version, bytes, createdAt, expiresAt } = info;
  const from = source && { kind: source.kind, url: source.url };
  return { fileKey, version, bytes, createdAt, title, contentType, source: from, expiresAt };
}

/** The item with its operations, but without their inputs and results. */
export function itemSummary(item: OutputItem): OutputItem {
  if (item.type !== 'script_execution_output') return item;
  const operations = item.operations.map(({ input: _input, result: _result, ...operation }) => operation);
  return { ...item, operations: operations as typeof item.operations };
}

export function runView(run: Run) {
  const { runId, turnId, threadId, state, options, createdAt, updatedAt, cancelRequestedAt, parked, error } = run;
  const { agentId } = options as { agentId?: string | undefined };
  return {
    runId,
    turnId,
    threadId,
    status: state,
    createdAt,
    updatedAt,
    agentId,
    cancelRequestedAt,
    stuck: parked,
    error,
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
    description,
    model: provider?.model,
    models: allowedModels(config),
    isDefault,
    problem,
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
    outputSchema,
    declaration: catalog.describe(name) ?? '',
  };
}
