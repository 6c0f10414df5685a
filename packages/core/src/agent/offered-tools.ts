import type { Harness } from '../harness/index.js';
import {
  AGENT_LIMITS,
  type FunctionTool,
  type HarnessMode,
  type LimitsInput,
  type ModelProvider,
  type ModelTool,
  ToolscriptUsageError,
} from '../protocol/index.js';
import type { AgentConfig } from './agent-config.js';
import { SCRIPT_TOOL } from '../protocol/script-tool.js';

export interface OfferedTools {
  readonly tools: readonly ModelTool[];
  /** The tools' own names, by the names that the model uses. */
  readonly functions: ReadonlyMap<string, string>;
  /** The offered names of tools without arguments. */
  readonly withoutArguments: ReadonlySet<string>;
}

const SCRIPT_TOOL_DESCRIPTION = 'Runs TypeScript in the sandbox, as the system text describes, and returns its result.';

/** The tools that a model may call, in a stable order. Functions of the client keep their names. */
export function offerTools(
  harness: Harness,
  { carrier, functions }: AgentConfig,
  mode: HarnessMode,
  clientFunctions: readonly FunctionTool[] = [],
): OfferedTools {
  const taken = takenNames(clientFunctions);
  const names = new Map<string, string>();
  const tools: ModelTool[] = [];
  if (mode !== 'disabled' && carrier !== 'text') tools.push(scriptTool(harness, carrier));
  for (const tool of harness.tools()) {
    const offered = mode === 'disabled' || functions === 'all' || functions.includes(tool.name);
    if (!offered) continue;
    const name = freeName(tool.name, taken);
    taken.add(name);
    names.set(name, tool.name);
    tools.push({ type: 'function', name, description: tool.description, inputSchema: tool.inputSchema });
  }
  const functionTools = tools.filter((tool) => tool.type === 'function');
  const withoutArguments = functionTools.filter(({ inputSchema }) => takesNothing(inputSchema)).map(({ name }) => name);
  return {
    tools: [...tools, ...clientFunctions],
    functions: names,
    withoutArguments: new Set(withoutArguments),
  };
}

function takenNames(clientFunctions: readonly FunctionTool[]): Set<string> {
  const taken = new Set([SCRIPT_TOOL]);
  for (const { name } of clientFunctions) {
    if (taken.has(name))
      throw new ToolscriptUsageError(
        `The name of the client's function ${JSON.stringify(name)} is taken. Give it another name.`,
      );
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

/** The system text of an agent's runs, for a host that stores it with a thread. Undefined: there is none. */
export function agentSystem(
  harness: Harness,
  provider: Pick<ModelProvider, 'capabilities'>,
  agent: AgentConfig,
  mode: HarnessMode = agent.mode ?? harness.mode,
): string | undefined {
  return systemText(harness, agentFor(provider, agent), mode);
}

/** If the provider has no tools that take raw text, scripts arrive as an argument. */
export function agentFor({ capabilities }: Pick<ModelProvider, 'capabilities'>, agent: AgentConfig): AgentConfig {
  return agent.carrier === 'custom' && !capabilities.customTools ? { ...agent, carrier: 'tool' } : agent;
}

/** The system text: how to write scripts, the tools, then the agent's own text. The same inputs give the same text. */
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
