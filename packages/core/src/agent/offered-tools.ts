import type { Harness } from '../harness/index.js';
import {
  AGENT_LIMITS,
  type FunctionTool,
  type HarnessMode,
  type LimitsInput,
  type ModelProvider,
  type ModelTool,
  type Tool,
  type ToolCallers,
  ToolscriptUsageError,
} from '../protocol/index.js';
import type { AgentConfig } from './agent-config.js';
import { SCRIPT_TOOL } from '../text/script-tool.js';

export interface OfferedTools {
  readonly tools: readonly ModelTool[];
  /** The tools' own names, by the names that the model uses. */
  readonly functions: ReadonlyMap<string, string>;
  /** The offered names of tools without arguments. */
  readonly withoutArguments: ReadonlySet<string>;
  /** The callers of the tools that the provider's code may call, by the tools' offered names. */
  readonly callers: ReadonlyMap<string, ToolCallers>;
}

const SCRIPT_TOOL_DESCRIPTION = 'Runs TypeScript in the sandbox, as the system text describes, and returns its result.';

/** The tools of a harness as an agent's model sees them. A thread stores them as JSON. */
export interface ModelTools {
  readonly tools: readonly ModelTool[];
  /** The names that the model uses, each with the tool's own name. */
  readonly functions: readonly (readonly [offered: string, own: string])[];
}

interface OfferOptions {
  readonly clientFunctions?: readonly FunctionTool[] | undefined;
  /** The tools that the thread was first offered, as `agentBeginning` returned them. */
  readonly stored?: string | undefined;
}

/**
 * The tools that a model may call, in a stable order: those that the thread was first offered, then the functions of
 * the client, which keep their names. A call of a tool of today that the thread was not offered is accepted, too.
 */
export function offerTools(
  harness: Harness,
  agent: AgentConfig,
  mode: HarnessMode,
  { clientFunctions = [], stored }: OfferOptions = {},
): OfferedTools {
  const current = modelTools(harness, agent, mode, clientFunctions);
  const first = stored === undefined ? current : (JSON.parse(stored) as ModelTools);
  const ofClient = new Set(clientFunctions.map(({ name }) => name));
  const functions = new Map([...current.functions, ...first.functions].filter(([offered]) => !ofClient.has(offered)));
  const ownTools = new Map(harness.tools().map((tool) => [tool.name, tool]));
  const isHosted = hostsCode(agent, mode);
  const withoutArguments = new Set<string>();
  const callers = new Map<string, ToolCallers>();
  for (const [offered, own] of functions) {
    const tool = ownTools.get(own);
    // The call of a tool that is gone reaches the harness, which says so.
    if (tool === undefined) {
      if (isHosted) callers.set(offered, 'both');
      continue;
    }
    if (takesNothing(tool.inputSchema)) withoutArguments.add(offered);
    const chosen = isHosted ? hostedMembers(tool).callers : undefined;
    if (chosen !== undefined) callers.set(offered, chosen);
  }
  const tools = [...first.tools.filter(({ name }) => !ofClient.has(name)), ...clientFunctions];
  return { tools, functions, withoutArguments, callers };
}

/** The tools of the harness, under names that no function of the client has. */
export function modelTools(
  harness: Harness,
  agent: AgentConfig,
  mode: HarnessMode,
  clientFunctions: readonly FunctionTool[] = [],
): ModelTools {
  const { carrier, functions: offered } = agent;
  const isHosted = hostsCode(agent, mode);
  const taken = takenNames(clientFunctions, isHosted ? [SCRIPT_TOOL, PROVIDERS_TOOL] : [SCRIPT_TOOL]);
  const functions: [string, string][] = [];
  const tools: ModelTool[] = [];
  if (mode !== 'disabled' && (carrier === 'tool' || carrier === 'custom')) tools.push(scriptTool(harness, carrier));
  for (const tool of harness.tools()) {
    const isOffered = mode === 'disabled' || isHosted || offered === 'all' || offered.includes(tool.name);
    if (!isOffered) continue;
    const name = freeName(tool.name, taken);
    taken.add(name);
    functions.push([name, tool.name]);
    const common = { type: 'function', name, description: tool.description, inputSchema: tool.inputSchema } as const;
    tools.push(isHosted ? { ...common, ...hostedMembers(tool) } : common);
  }
  return { tools, functions };
}

function hostsCode({ carrier }: AgentConfig, mode: HarnessMode): boolean {
  return mode !== 'disabled' && carrier === 'hosted';
}

/**
 * A call that waits for a user may outlive the provider's code that made the call. So by default, this code may call
 * only tools that read.
 */
function hostedMembers({ callers, effect, outputSchema }: Tool): Pick<FunctionTool, 'callers' | 'outputSchema'> {
  // defence: hosted-code-only-reads
  const chosen = callers ?? (effect === 'read' ? 'both' : 'direct');
  return chosen === 'direct' ? {} : { callers: chosen, outputSchema };
}

/** The required name of Anthropic's code execution tool. */
const PROVIDERS_TOOL = 'code_execution';

function takenNames(clientFunctions: readonly FunctionTool[], reserved: readonly string[]): Set<string> {
  const taken = new Set(reserved);
  for (const { name } of clientFunctions) {
    if (taken.has(name)) throw new ToolscriptUsageError('FUNCTION_NAME_TAKEN', { name: JSON.stringify(name) });
    taken.add(name);
  }
  return taken;
}

function freeName(toolName: string, taken: ReadonlySet<string>): string {
  const base = toolName.replaceAll(/[^\w-]/gu, '_').slice(0, 60);
  let name = base;
  for (let count = 2; taken.has(name); count += 1) name = `${base}_${count}`;
  return name;
}

/** Members of a JSON Schema other than `properties` that allow an object to have members. */
const OPENING = ['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties', 'if', 'dependentSchemas'];

function takesNothing(schema: Readonly<Record<string, unknown>>): boolean {
  const { properties = {}, additionalProperties = false } = schema;
  const hasNone = typeof properties === 'object' && properties !== null && Object.keys(properties).length === 0;
  return hasNone && additionalProperties === false && !OPENING.some((name) => Object.hasOwn(schema, name));
}

function scriptTool(harness: Harness, carrier: 'tool' | 'custom'): ModelTool {
  const common = { name: SCRIPT_TOOL, description: SCRIPT_TOOL_DESCRIPTION };
  if (carrier === 'custom')
    return {
      type: 'custom',
      name: SCRIPT_TOOL,
      description: `${SCRIPT_TOOL_DESCRIPTION} Its input is the TypeScript itself.`,
      argument: 'code',
    };
  return { type: 'function', ...common, inputSchema: { ...harness.asTool().inputSchema } };
}

/**
 * The overrides of a harness's limits for an agent's scripts: limits that the host has not set get the defaults for
 * agents.
 */
export function agentLimits(
  { hostLimits }: Harness,
  { limits }: Pick<AgentConfig, 'limits'>,
  ofRun?: Partial<LimitsInput>,
): Partial<LimitsInput> {
  return { ...AGENT_LIMITS, ...hostLimits, ...limits, ...ofRun };
}

export interface SystemOptions {
  readonly mode: HarnessMode;
  /** The nonce of scripts in text. */
  readonly nonce: string | undefined;
  /** False: the text shows no tools. Default true. */
  readonly catalog?: boolean | undefined;
}

/**
 * Returns the agent as the provider can serve it: scripts arrive as a tool's argument if the agent's `carrier` needs
 * raw-text tools or hosted code, and the provider does not support that feature.
 */
export function agentFor({ capabilities }: Pick<ModelProvider, 'capabilities'>, agent: AgentConfig): AgentConfig {
  const { customTools, hostedCode = false } = capabilities;
  const isMissing = (agent.carrier === 'custom' && !customTools) || (agent.carrier === 'hosted' && !hostedCode);
  return isMissing ? { ...agent, carrier: 'tool' } : agent;
}

const HOSTED_GUIDE =
  'Some tools can be called by code that you run. There, a tool returns its result as JSON text: parse it, and print only what you need. A call can fail, or can be refused by the user: handle both. Do not repeat a call that has a result.';

const FINISH_GUIDE =
  'The value that a script returns is your final answer: the user gets it, and you are not asked again. To look at something first, print it with `console.log`, and return nothing.';

/** The system text: how to write scripts, the tools, then the agent's own text. The same inputs give the same text. */
export function systemText(
  harness: Harness,
  agent: AgentConfig,
  { mode, nonce, catalog }: SystemOptions,
): string | undefined {
  const { carrier, afterScript, finish, instructions, instructionTokens: tokenBudget } = agent;
  const limits = agentLimits(harness, agent);
  const guide =
    carrier === 'hosted'
      ? HOSTED_GUIDE
      : harness.instructions({ carrier, afterScript, limits, tokenBudget, nonce, catalog });
  const guides = finish === 'script' && carrier !== 'hosted' ? [guide, FINISH_GUIDE] : [guide];
  const parts = [...(mode === 'disabled' ? [] : guides), ...(instructions === undefined ? [] : [instructions])];
  return parts.length === 0 ? undefined : parts.join('\n\n');
}
