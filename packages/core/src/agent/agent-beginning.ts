import type { Harness } from '../harness/index.js';
import { DEFAULT_INSTRUCTION_TOKENS } from '../prompt/instructions.js';
import { writePromptCatalog } from '../prompt/catalog.js';
import {
  MAX_STORED_TOOLS,
  ToolscriptUsageError,
  type FunctionTool,
  type HarnessMode,
  type MessageItem,
  type ModelProvider,
  type ThreadInstructions,
  type Tool,
} from '../protocol/index.js';
import { newId, sha256 } from '../text/crypto.js';
import type { AgentConfig } from './agent-config.js';
import { agentFor, modelTools, systemText, type ModelTools } from './offered-tools.js';

export interface BeginningOptions {
  /** Default: the mode of the agent, then of the harness. */
  readonly mode?: HarnessMode | undefined;
  /** The nonce of the thread's scripts, which an agent with the carrier `text` needs unless scripts are disabled. */
  readonly nonce?: string | undefined;
  /** See `RunAgentOptions`. The tools get names that no function of the client has. */
  readonly clientFunctions?: readonly FunctionTool[] | undefined;
}

/** The beginning of each request of an agent's new thread, for a host that stores it with the thread. */
export interface AgentBeginning extends Pick<ThreadInstructions, 'system' | 'tools'> {
  /** Threads with another carrier begin anew. */
  readonly carrier: string;
  readonly announced: NonNullable<ThreadInstructions['announced']>;
  /**
   * The message about what has changed since `before`, for the model of a thread, and the new `announced`: the whole
   * system text if the rules have changed, or after 16 messages, else the tools that are new, changed or gone.
   * Undefined if nothing has changed.
   */
  changesSince(before: Pick<ThreadInstructions, 'announced' | 'tools'>): Announcement | undefined;
}

/** A message about changes, which precedes the next prompt, and the state that it announces. */
export interface Announcement {
  readonly message: MessageItem;
  readonly announced: AgentBeginning['announced'];
}

/** The maximum number of messages about changes that a summary keeps. */
const MAX_CHANGES = 16;

/** The maximum number of tools whose changes are reported one by one. */
const MAX_WATCHED_TOOLS = 500;

/** The maximum number of names in a list of tools. */
const MAX_NAMES = 50;

/**
 * The system text and the tools of an agent's runs. Throws a `ToolscriptUsageError` if the agent needs a nonce and
 * there is none.
 */
export function agentBeginning(
  harness: Harness,
  provider: Pick<ModelProvider, 'capabilities'>,
  given: AgentConfig,
  { mode = given.mode ?? harness.mode, nonce, clientFunctions }: BeginningOptions = {},
): AgentBeginning {
  const agent = agentFor(provider, given);
  const carrier = mode === 'disabled' ? mode : agent.carrier;
  // Without it, the text would name a tag that no run of an agent accepts.
  if (carrier === 'text' && nonce === undefined) throw new ToolscriptUsageError('SCRIPT_NONCE_MISSING');
  const system = systemText(harness, agent, { mode, nonce });
  const tools = JSON.stringify(modelTools(harness, agent, mode, clientFunctions));
  const all = harness.tools();
  const isWatched = all.length <= MAX_WATCHED_TOOLS;
  const rules = isWatched ? systemText(harness, agent, { mode, nonce, catalog: false }) : system;
  const announced = {
    rules: shortHash(rules),
    tools: Object.fromEntries(isWatched ? all.map((tool) => [tool.name, toolHash(tool)]) : []),
    changes: 0,
  };
  const hasScripts = carrier !== 'disabled' && carrier !== 'hosted';
  const room = agent.instructionTokens ?? DEFAULT_INSTRUCTION_TOKENS;
  return {
    carrier,
    system,
    tools: tools.length > MAX_STORED_TOOLS ? undefined : tools,
    announced,
    changesSince(before) {
      if (before.announced?.rules !== announced.rules) return announcement('all', wholeText(system), announced);
      const changes = toolChanges(all, before.announced.tools, announced.tools);
      const callable = hasScripts ? undefined : firstTools(before.tools);
      const text = changesText(changes, { callable, room });
      if (text === undefined) return undefined;
      const count = before.announced.changes + 1;
      return count > MAX_CHANGES
        ? announcement('all', wholeText(system), announced)
        : announcement('changes', text, { ...announced, changes: count });
    },
  };
}

function announcement(
  announces: MessageItem['announces'],
  content: string,
  announced: Announcement['announced'],
): Announcement {
  return { message: { type: 'message', id: newId('item'), role: 'system', content, announces }, announced };
}

function wholeText(system: string | undefined): string {
  return system === undefined
    ? 'The instructions at the start of this conversation no longer apply.'
    : `The instructions or the tools have changed. From now on, these apply:\n\n${system}`;
}

interface ToolChanges {
  /** The tools that are new or changed. */
  readonly current: readonly Tool[];
  readonly gone: readonly string[];
}

type ToolHashes = Readonly<Record<string, string>>;

function toolChanges(tools: readonly Tool[], before: ToolHashes, now: ToolHashes): ToolChanges {
  const known = new Map(Object.entries(before));
  return {
    current: tools.filter(({ name }) => known.get(name) !== now[name]),
    gone: [...known.keys()].filter((name) => !Object.hasOwn(now, name)),
  };
}

/** The own names of the tools that a thread was first offered. Undefined if they are not stored. */
function firstTools(stored: string | undefined): ReadonlySet<string> | undefined {
  return stored === undefined ? undefined : new Set((JSON.parse(stored) as ModelTools).functions.map(([, own]) => own));
}

/** `callable`: the tools that the model can call. Undefined: all. */
function changesText(
  { current, gone }: ToolChanges,
  { callable, room }: { readonly callable: ReadonlySet<string> | undefined; readonly room: number },
): string | undefined {
  const declared = current.filter(({ name }) => callable?.has(name) !== false);
  const unreachable = current.filter((tool) => !declared.includes(tool)).map(({ name }) => name);
  const parts = [
    declared.length > 0 && `New or changed:\n\n\`\`\`ts\n${writePromptCatalog(declared, room).text.trimEnd()}\n\`\`\``,
    unreachable.length > 0 && `New, and callable only in a new conversation: ${nameList(unreachable)}.`,
    gone.length > 0 && `Gone, so that a call of them fails: ${nameList(gone)}.`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? undefined : ['The tools have changed.', ...parts].join('\n\n');
}

function nameList(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return more > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${more} more` : names.join(', ');
}

/** A hash of all that a model reads of a tool. */
function toolHash({ name, description, inputSchema, outputSchema }: Tool): string {
  return shortHash(JSON.stringify([name, description, inputSchema, outputSchema]));
}

function shortHash(text = ''): string {
  return sha256(text).slice(0, 16);
}
