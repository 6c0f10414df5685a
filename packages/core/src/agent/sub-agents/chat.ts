import type {
  JsonObject,
  ModelProvider,
  ModelRequest,
  OutputItem,
  ToolCallContext,
  ToolCallScope,
} from '../../protocol/index.js';
import { present } from '../../protocol/json.js';
import { modelFacts } from '../../protocol/known-models.js';
import { newId } from '../../text/crypto.js';
import type { Prices } from '../agent-config.js';
import { answerBound, answerRoom, MIN_ANSWER_TOKENS } from '../answer-room.js';
import { readAnswerText } from '../compaction.js';
import { FinalOutput, invalidOutput } from '../final-output.js';
import { addUsage, ESTIMATE_MARGIN, estimateRequest, RunAccount } from '../run-account.js';
import type { RunBudget } from '../run-budget.js';
import type { AgentScope } from '../sub-agent-host.js';
import { agentRefusal } from './limits.js';
import {
  assertApproved,
  namedFileKeys,
  readFiles,
  referencedFiles,
  type DocumentText,
  type NamedFiles,
} from './stored-files.js';

/** Default maximum tokens of an answer in a run with a budget. */
const DEFAULT_ANSWER_TOKENS = 4096;

/** A model and, if known, the price of its tokens. */
export interface OpenedChatModel {
  readonly provider: ModelProvider;
  readonly prices?: Prices | undefined;
}

/**
 * Ports that find the prompts, files and models that the arguments of a call name. A call that needs a missing port
 * fails.
 */
export interface ChatPorts {
  /** Opens a model by its name. Throws an error whose message names the cause. */
  openModel?: ((model: string, scope: AgentScope) => Promise<OpenedChatModel>) | undefined;
  /** Returns the text of a saved prompt with its variables replaced, and the prompt's system text. */
  loadPrompt?:
    | ((
        prompt: string,
        variables: JsonObject,
        call: ToolCallScope,
      ) => Promise<{ text: string; system?: string | undefined }>)
    | undefined;
  documentText?: DocumentText | undefined;
}

export interface ChatInput extends NamedFiles {
  prompt?: string | undefined;
  text?: string | undefined;
  variables?: Record<string, string | number | boolean> | undefined;
  system?: string | undefined;
  model?: string | undefined;
  schema?: Record<string, unknown> | undefined;
  maxTokens?: number | undefined;
}

export interface ChatResult {
  text: string;
  value?: unknown;
  incomplete?: string | undefined;
  usage: { inputTokens: number; outputTokens: number; cost?: number | undefined };
}

/**
 * Makes one request to a model, without tools. If the answer does not fit the schema, a second request asks the model
 * to repair the answer.
 */
export async function chat(
  scope: AgentScope,
  input: ChatInput,
  call: ToolCallContext,
  ports: ChatPorts,
): Promise<ChatResult> {
  const model = await openModel(scope, input.model, ports);
  const output = input.schema === undefined ? undefined : new FinalOutput(input.schema, model.provider);
  const prompt = await readPrompt(input, call, ports);
  const asking = new Chat({ scope, model, call, maxTokens: input.maxTokens, system: prompt.system, output });
  const text = await asking.say([prompt.text, output?.instruction].filter((part) => part !== undefined).join('\n\n'));
  return asking.result(text, output === undefined ? {} : { value: await asking.value(output) });
}

async function openModel(scope: AgentScope, model: string | undefined, ports: ChatPorts): Promise<OpenedChatModel> {
  if (model === undefined || model === scope.provider.model)
    return { provider: scope.provider, prices: scope.agent.prices ?? modelFacts(scope.provider.model).prices };
  if (ports.openModel === undefined)
    throw agentRefusal(`This host offers no other model. Omit model to use ${scope.provider.model}.`);
  const other = await ports.openModel(model, scope);
  const opened = { ...other, prices: other.prices ?? modelFacts(other.provider.model).prices };
  if (scope.budget.left('cost') !== Number.POSITIVE_INFINITY && opened.prices === undefined)
    throw agentRefusal(
      `The cost of ${model} is not known, so this model cannot be used within the cost budget of this run. Use another model.`,
    );
  return opened;
}

async function readPrompt(
  { prompt, text, variables, system, ...named }: ChatInput,
  call: ToolCallContext,
  { loadPrompt, documentText }: ChatPorts,
): Promise<{ text: string; system: string | undefined }> {
  if ((prompt === undefined) === (text === undefined))
    throw agentRefusal(
      'agents.llm.chat needs either prompt or text. Pass the name of a saved prompt as prompt, or the text as text.',
    );
  if (text !== undefined && variables !== undefined)
    throw agentRefusal('variables belong to a saved prompt. Write the values into text, or name a prompt.');
  if (prompt !== undefined && loadPrompt === undefined)
    throw agentRefusal('This host has no saved prompts. Pass the text of the prompt as text.');
  const said = prompt === undefined ? { text: text! } : await loadPrompt!(prompt, variables ?? {}, call);
  if (prompt !== undefined) assertApproved(promptReference(prompt), promptText(said), call.covers);
  const files = await readFiles(namedFileKeys(named), documentText, call);
  return { text: [...files, said.text].join('\n\n'), system: system ?? ('system' in said ? said.system : undefined) };
}

/** The texts that the model reads besides its arguments, by their names in an approval. */
export async function chatReferences(
  { prompt, variables = {}, ...named }: ChatInput,
  call: ToolCallScope,
  { loadPrompt, documentText }: ChatPorts,
): Promise<Record<string, string>> {
  const files = await referencedFiles(namedFileKeys(named), documentText, call);
  if (prompt === undefined || loadPrompt === undefined) return files;
  return { [promptReference(prompt)]: promptText(await loadPrompt(prompt, variables, call)), ...files };
}

function promptReference(prompt: string): string {
  return `the prompt ${JSON.stringify(prompt)}`;
}

function promptText({ text, system = '' }: { text: string; system?: string | undefined }): string {
  return JSON.stringify([system, text]);
}

interface ChatSettings {
  readonly scope: AgentScope;
  readonly model: OpenedChatModel;
  readonly call: ToolCallContext;
  readonly maxTokens: number | undefined;
  readonly system: string | undefined;
  readonly output: FinalOutput | undefined;
}

/** A short conversation with a model. Its tokens count towards the budget of a run. */
class Chat {
  readonly #settings: ChatSettings;
  readonly #conversation: OutputItem[] = [];
  #incomplete: string | undefined;
  #usage: ReturnType<typeof addUsage>;
  #cost: number | undefined;

  constructor(settings: ChatSettings) {
    this.#settings = settings;
  }

  async say(content: string): Promise<string> {
    const { scope, model, call } = this.#settings;
    this.#conversation.push({ type: 'message', id: newId('item'), role: 'user', content });
    await scope.answerArrived();
    const { request, budget } = this.#reserve();
    const emit: AgentScope['emit'] = (payload) =>
      scope.emit({ ...payload, call_id: call.callId, ...present({ script_id: call.scriptId }) } as typeof payload);
    const account = new RunAccount({ agent: present({ prices: model.prices }), budget, isStrict: true, emit });
    const answer = model.provider.stream(request, { signal: call.signal, answerId: newId('answer') });
    const read = await readAnswerText(answer, request, { usage: account.usage, emit });
    account.requestDone();
    budget.close();
    this.#count(account);
    call.signal.throwIfAborted();
    if (read.error !== undefined)
      throw agentRefusal(`The model did not answer: ${read.error.code}: ${read.error.message}`);
    this.#incomplete = read.incomplete;
    const { text: said, refusal } = read;
    this.#conversation.push({
      type: 'message',
      id: newId('item'),
      role: 'assistant',
      content: said,
      ...present({ refusal }),
    });
    return said;
  }

  /** The value of the last answer, which the model may repair once. */
  async value(output: FinalOutput): Promise<unknown> {
    for (let hasRepaired = false; ; hasRepaired = true) {
      const read = output.read(this.#conversation.slice(-1), this.#incomplete);
      if (read.failure !== undefined) throw agentRefusal(read.failure.message);
      if (read.problem === undefined) return read.value;
      if (hasRepaired) throw agentRefusal(invalidOutput(read.problem).message);
      await this.say(output.repair(read.problem));
    }
  }

  result(text: string, valued: { value?: unknown } = {}): ChatResult {
    const { input_tokens: inputTokens, output_tokens: outputTokens } = this.#usage ?? {
      input_tokens: 0,
      output_tokens: 0,
    };
    const usage = { inputTokens, outputTokens, cost: this.#cost };
    return { text, ...valued, ...present({ incomplete: this.#incomplete }), usage };
  }

  #count(account: RunAccount): void {
    const { usage, cost } = account.totals;
    this.#settings.scope.addUsage(usage, cost);
    this.#usage = addUsage(this.#usage, usage);
    if (cost !== undefined) this.#cost = (this.#cost ?? 0) + cost;
  }

  /** Returns the request and a budget for it, so that concurrent calls together stay within the budget of the run. */
  #reserve(): { request: ModelRequest; budget: RunBudget } {
    const { scope, model, maxTokens, system, output } = this.#settings;
    const { budget } = scope;
    const request: ModelRequest = { conversation: [...this.#conversation], system, outputSchema: output?.requested };
    if (!budget.isLimited)
      return { request: { ...request, ...present({ maxOutputTokens: maxTokens }) }, budget: budget.reserve({}) };
    const input = Math.ceil(estimateRequest(request) * ESTIMATE_MARGIN);
    const room = answerRoom(budget, input, model.prices);
    if (room < MIN_ANSWER_TOKENS)
      throw agentRefusal('The budget of this run has no room for another answer of a model. Work with what is known.');
    const maxOutputTokens = Math.min(maxTokens ?? DEFAULT_ANSWER_TOKENS, room);
    return {
      request: { ...request, maxOutputTokens },
      budget: budget.reserve(answerBound(input, maxOutputTokens, model.prices)),
    };
  }
}
