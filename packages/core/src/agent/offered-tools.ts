import type { Harness } from '../harness/index.js';
import {
  AGENT_LIMITS,
  type FunctionTool,
  type HarnessMode,
  type LimitsInput,
  type ModelProvider,
  type ModelTool,
  type Tool,
} from '../protocol/index.js';
import type { AgentConfig } from './agent-config.js';
import { SCRIPT_TOOL } from '../answer/index.js';

export interface OfferedTools {
  readonly tools: readonly ModelTool[];
  /** The tools' own names, by the names under which they are offered. */
  readonly functions: ReadonlyMap<string, string>;
  /** Those of the offered names whose tools take no arguments. */
  readonly withoutArguments: ReadonlySet<string>;
}

const SCRIPT_TOOL_DESCRIPTION = 'Runs TypeScript in the sandbox, as the system text says, and gives what came of it.';

/** What a model may call, in an order that does not change. */
export function offerTools(harness: Harness, { carrier, functions }: AgentConfig, mode: HarnessMode): OfferedTools {
  const names = new Map<string, string>();
  const tools: ModelTool[] = [];
  if (mode !== 'disabled' && carrier !== 'text') tools.push(scriptTool(harness, carrier));
  for (const tool of harness.tools()) {
    const offered = mode === 'disabled' || functions === 'all' || functions.includes(tool.name);
    if (offered) tools.push(functionTool(tool, names));
  }
  const functionTools = tools.filter((tool) => tool.type === 'function');
  const withoutArguments = functionTools.filter(({ inputSchema }) => takesNothing(inputSchema)).map(({ name }) => name);
  return { tools, functions: names, withoutArguments: new Set(withoutArguments) };
}

/** Members of a JSON Schema beside `properties` that let an object have members. */
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

function functionTool({ name, description, inputSchema }: Tool, names: Map<string, string>): FunctionTool {
  const base = name.replaceAll(/[^\w-]/gu, '_').slice(0, 60);
  let offered = base;
  for (let count = 2; names.has(offered) || offered === SCRIPT_TOOL; count += 1) offered = `${base}_${count}`;
  names.set(offered, name);
  return { type: 'function', name: offered, description, inputSchema };
}

/** The changes to a harness's limits under which an agent's scripts run: what nobody has set is what agents need. */
export function agentLimits(
  { hostLimits }: Harness,
  { limits }: Pick<AgentConfig, 'limits'>,
  ofRun?: Partial<LimitsInput>,
): Partial<LimitsInput> {
  return { ...AGENT_LIMITS, ...hostLimits, ...limits, ...ofRun };
}

/** The system text of an agent's runs, for a host that keeps it with a thread. Undefined: there is none. */
export function agentSystem(
  harness: Harness,
  provider: Pick<ModelProvider, 'capabilities'>,
  agent: AgentConfig,
  mode: HarnessMode = agent.mode ?? harness.mode,
): string | undefined {
  return systemText(harness, agentFor(provider, agent), mode);
}

/** Where there are no tools that take raw text, scripts come as an argument. */
export function agentFor({ capabilities }: Pick<ModelProvider, 'capabilities'>, agent: AgentConfig): AgentConfig {
  return agent.carrier === 'custom' && !capabilities.customTools ? { ...agent, carrier: 'tool' } : agent;
}

/** The system text: how scripts are written and what there is, then the agent's own. Stable while they are. */
export function systemText(harness: Harness, agent: AgentConfig, mode: HarnessMode): string | undefined {
  const { carrier, afterScript, instructions, instructionTokens: tokenBudget } = agent;
  const guide =
    mode === 'disabled'
      ? []
      : [
          harness.instructions({
            carrier,
            afterScript,
            limits: agentLimits(harness, agent),
            ...(tokenBudget === undefined ? {} : { tokenBudget }),
          }),
        ];
  const parts = [...guide, ...(instructions === undefined ? [] : [instructions])];
  return parts.length === 0 ? undefined : parts.join('\n\n');
}
