import { z } from 'zod';
import type { HarnessOptions } from '../../harness/index.js';
import { defineTool } from '../../tools/index.js';
import type { Tool, ToolCallContext, ToolCallScope } from '../../protocol/index.js';
import { previewText } from '../../text/preview-text.js';
import { schemaProblem } from '../answer-schema.js';
import type { AgentScope, SubAgentHost } from '../sub-agent-host.js';
import { chat, chatReferences, type ChatPorts } from './chat.js';
import type { ChildReport, ChildRun } from './child-run.js';
import { AgentCount, MAX_AGENTS, MAX_DEPTH, agentRefusal } from './limits.js';
import { namedFileKeys, referencedFiles, type DocumentText } from './stored-files.js';
import { countStartedAgents, RunAgents, type Launch, type Lineage, type OpenedSubAgent } from './run-agents.js';

export interface SubAgentOptions extends ChatPorts {
  /**
   * Opens an agent by its slug. Throws an error whose message names the cause. Default: a run launches only its own
   * agent.
   */
  openAgent?: ((slug: string, scope: AgentScope) => Promise<OpenedSubAgent>) | undefined;
  /** Maximum number of levels of sub-agents. Default 3. */
  maxDepth?: number | undefined;
  /** Maximum number of sub-agents of one run, at all levels together. Default 20. */
  maxAgents?: number | undefined;
  /**
   * True: a run is suspended for the approvals of its sub-agents, and the host resumes it with `resumeRun`. If this
   * option is false, or the harness has no store, a sub-agent's call is denied if nobody decides at once. Default
   * false.
   */
  waitsForDecisions?: boolean | undefined;
}

/** Sub-agents: their tools for a harness, and the port for the runs of that harness. */
export interface SubAgents extends SubAgentHost {
  /** `agents.llm.chat`, `agents.launch.sync`, `agents.launch.async`, `agents.status`, `agents.result`, `agents.cancel`. */
  readonly tools: readonly Tool[];
}

/**
 * Creates the tools of sub-agents and the port for runs. Give the tools to the harness, and the returned object to
 * `runAgent` as `subAgents`.
 */
export function createSubAgents(options: SubAgentOptions = {}): SubAgents {
  const { maxDepth = MAX_DEPTH, maxAgents = MAX_AGENTS, openAgent, documentText, waitsForDecisions = false } = options;
  const runs = new Map<string, RunAgents>();
  const open = (scope: AgentScope, lineage: Lineage): RunAgents => {
    const { runId } = scope.identity;
    const onClosed = () => runs.delete(runId);
    const settings = { maxDepth, openAgent, documentText, openChild: open, onClosed, waitsForDecisions };
    const opened = new RunAgents({ scope, lineage, ...settings });
    runs.set(runId, opened);
    return opened;
  };
  const find = ({ runId }: ToolCallContext): RunAgents => {
    const found = runId === undefined ? undefined : runs.get(runId);
    if (found !== undefined) return found;
    throw agentRefusal(
      'Only the run of an agent can use sub-agents and models. Make this call in a conversation with an agent.',
    );
  };
  return {
    tools: Object.freeze([chatTool(find, options), ...launchTools(find, documentText), ...handleTools(find)]),
    open: (scope) => {
      const count = new AgentCount(maxAgents);
      count.add(countStartedAgents(scope.earlier));
      return open(scope, { depth: 0, path: [], count, endsAt: undefined });
    },
  };
}

/** Adds tools to the exposure of a harness. An exposure without names already exposes all tools. */
export function exposeAlso(expose: HarnessOptions['expose'], tools: readonly Tool[]): HarnessOptions['expose'] {
  if (tools.length === 0 || (expose?.tools === undefined && expose?.pack === undefined)) return expose;
  return { ...expose, tools: [...(expose.tools ?? []), ...tools.map(({ name }) => name)] };
}

type FindRun = (call: ToolCallContext) => RunAgents;

const JsonSchema = z.record(z.string(), z.unknown());

const FILES = {
  fileKey: z.string().min(1).optional().describe('A stored file that the model reads first.'),
  fileKeys: z.array(z.string().min(1)).max(20).optional(),
};

const TokensSchema = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cost: z.number().optional().describe('In US dollars, if the prices are known.'),
});

const STATUS = z.enum(['running', 'completed', 'incomplete', 'failed', 'cancelled']);

const ReportSchema = z.object({
  runId: z.string(),
  agent: z.string(),
  status: STATUS,
  answer: z.string().optional(),
  value: z.any().describe('The answer as JSON, if a schema was given.').optional(),
  problem: z.string().optional().describe('Why the sub-agent did not complete.'),
  usage: TokensSchema.extend({ calls: z.number() }),
});

const HandleSchema = z.strictObject({ runId: z.string().describe('From agents.launch.async.') });

function chatTool(find: FindRun, ports: ChatPorts): Tool {
  return defineTool({
    name: 'agents.llm.chat',
    description:
      'Asks a language model once, without tools. With schema, the answer is JSON that fits it. Give either text or prompt.',
    input: z.strictObject({
      text: z.string().min(1).optional().describe('The question itself.'),
      prompt: z.string().min(1).optional().describe('The name of a saved prompt, instead of text.'),
      variables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
      system: z.string().optional(),
      model: z.string().min(1).optional().describe("Default: this agent's model."),
      schema: JsonSchema.optional().describe('The JSON Schema of the answer.'),
      maxTokens: z.number().int().min(1).optional().describe('Maximum tokens of the answer.'),
      ...FILES,
    }),
    output: z.object({
      text: z.string(),
      value: z.any().describe('The answer as JSON, if a schema was given.').optional(),
      incomplete: z.string().optional().describe('Why the answer ended early.'),
      usage: TokensSchema,
    }),
    effect: 'external',
    idempotent: true,
    references: (input, scope) => chatReferences(input, scope, ports),
    execute: (input, call) => {
      assertSchema(input.schema);
      // Files may contain what others have written.
      if (namedFileKeys(input).length > 0) call.markUntrusted?.();
      return chat(find(call).scope, input, call, ports);
    },
  });
}

const LaunchSchema = z.strictObject({
  task: z.string().min(1).describe('Everything that the sub-agent needs to know: it reads only this, and the files.'),
  ...FILES,
  agent: z.string().min(1).optional().describe('Default: this agent.'),
  tools: z.array(z.string()).optional().describe('Some of the tools of this agent. Default: all of them.'),
  budget: z
    .strictObject({
      tokens: z.number().int().min(1).optional(),
      cost: z.number().gt(0).optional().describe('In US dollars.'),
      calls: z.number().int().min(1).optional().describe('Tool calls.'),
      timeMs: z.number().int().min(1).optional(),
    })
    .optional()
    .describe("Up to the budget that this run has left. Default: half of that budget, or another agent's own budget."),
  schema: JsonSchema.optional().describe('The JSON Schema of the answer.'),
});

function launchTools(find: FindRun, documentText: DocumentText | undefined): Tool[] {
  const common = {
    input: LaunchSchema,
    effect: 'external',
    idempotent: true,
    preview: launchPreview,
    references: (input: Launch, scope: ToolCallScope) => referencedFiles(namedFileKeys(input), documentText, scope),
  } as const;
  const launch = (input: Launch, call: ToolCallContext, isDetached: boolean): Promise<ChildRun> => {
    assertSchema(input.schema);
    return find(call).launch(input, call, isDetached);
  };
  return [
    defineTool({
      ...common,
      name: 'agents.launch.sync',
      description: 'Gives a task to a sub-agent and waits for its answer.',
      output: ReportSchema,
      execute: async (input, call) => reportWhenOver(find(call), await launch(input, call, false), call),
    }),
    defineTool({
      ...common,
      name: 'agents.launch.async',
      description:
        'Gives a task to a sub-agent and returns at once. The sub-agent outlives this script, and ends at the latest with this run. agents.result returns its answer.',
      output: z.object({ runId: z.string() }),
      execute: async (input, call) => ({ runId: (await launch(input, call, true)).start.agent_run_id }),
    }),
  ];
}

function handleTools(find: FindRun): Tool[] {
  return [
    defineTool({
      name: 'agents.status',
      description: 'Returns the state of a sub-agent, without waiting.',
      input: HandleSchema,
      output: ReportSchema,
      effect: 'read',
      execute: ({ runId }, call) => childReport(find(call).child(runId), call),
    }),
    defineTool({
      name: 'agents.result',
      description: 'Waits for the end of a sub-agent, or for waitMs, and returns its answer.',
      input: HandleSchema.extend({
        waitMs: z.number().int().min(0).optional().describe('Default: until the sub-agent ends.'),
      }),
      output: ReportSchema,
      effect: 'read',
      execute: async ({ runId, waitMs }, call) => {
        const run = find(call);
        const child = run.child(runId);
        await waitForChild(run, child, call, waitMs);
        return childReport(child, call);
      },
    }),
    defineTool({
      name: 'agents.cancel',
      description: 'Cancels a sub-agent.',
      input: HandleSchema,
      output: ReportSchema,
      approval: 'never',
      effect: 'write',
      idempotent: true,
      execute: async ({ runId }, call) => {
        const child = find(call).child(runId);
        child.cancel('The run that launched the sub-agent has cancelled it.');
        await child.untilStopped;
        return childReport(child, call);
      },
    }),
  ];
}

/** Waits for a sub-agent and returns its report. An aborted call cancels the sub-agent. */
async function reportWhenOver(run: RunAgents, child: ChildRun, call: ToolCallContext): Promise<ChildReport> {
  const { signal } = call;
  const cancel = () => child.cancel('The call that launched the sub-agent was cancelled.');
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  await run.whenOver(child, call);
  signal.removeEventListener('abort', cancel);
  if (child.isOver) return childReport(child, call);
  throw agentRefusal(
    'The run was interrupted while this sub-agent worked. The sub-agent continues when the run continues.',
  );
}

/** The report of a sub-agent. It carries all that the sub-agent has read. */
function childReport(child: ChildRun, { markUntrusted }: ToolCallContext): ChildReport {
  // defence: answers-of-sub-agents-carry-what-they-read
  if (child.hasReadUntrusted) markUntrusted?.();
  return child.report();
}

async function waitForChild(run: RunAgents, child: ChildRun, call: ToolCallContext, waitMs?: number): Promise<void> {
  const stop = new AbortController();
  const timer = waitMs === undefined ? undefined : setTimeout(() => stop.abort(), waitMs);
  await run.whenOver(child, { callId: call.callId, signal: AbortSignal.any([call.signal, stop.signal]) });
  clearTimeout(timer);
}

function assertSchema(schema: unknown): void {
  const problem = schema === undefined ? undefined : schemaProblem(schema);
  if (problem !== undefined) throw agentRefusal(`schema cannot be used: ${problem}`);
}

function launchPreview({ agent, task, tools, budget, schema, ...named }: Launch): string {
  const files = namedFileKeys(named).map((key) => JSON.stringify(key));
  return previewText({
    title: 'launch a sub-agent',
    facts: {
      agent,
      tools: tools?.join(', '),
      files: files.length === 0 ? undefined : files.join(', '),
      budget: budget && JSON.stringify(budget),
      schema: schema && JSON.stringify(schema),
    },
    texts: { task },
  });
}
