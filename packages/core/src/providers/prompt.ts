import { modelFacts, nearestEffort, takesFile, takesTemperature } from '../protocol/known-models.js';
import type {
  FilePart,
  ImagePart,
  ModelPart,
  ModelRequest,
  ModelTool,
  OutputItem,
  ToolChoice,
} from '../protocol/index.js';
import { enforcedSchema } from '../protocol/output-schema.js';
import { hostedCodeIn } from '../protocol/hosted-code.js';
import { withoutLostCalls } from './hosted-pairs.js';
import { withoutLostCode } from './lost-code.js';
import { conversationTurns, type AttachedParts, type ConversationTurn } from './conversation.js';
import { withoutHalves } from './wire-values.js';

/** A request with all data that an encoder needs. Encoders are pure functions of it. */
export interface Prompt extends Omit<ModelRequest, 'conversation' | 'resolveImages'> {
  readonly model: string;
  readonly turns: readonly ConversationTurn[];
  /** The container in which the provider's code ran last; undefined if the container can no longer be used. */
  readonly container: string | undefined;
}

interface PromptPlace {
  /** The service that gets the request: see `AnswerOrigin`. Undefined: that of all answers. */
  readonly service?: string | undefined;
  /** The current time in ms since 1970. */
  readonly now?: number | undefined;
}

/**
 * Creates the prompt, resolves its images, and names the files that the model does not read. Rejects only if
 * `resolveImages` rejects.
 */
export async function createPrompt(
  api: string,
  model: string,
  request: ModelRequest,
  { service, now = Date.now() }: PromptPlace = {},
): Promise<Prompt> {
  const { conversation: given, resolveImages, ...rest } = request;
  // defence: members-of-another-service
  const all = given.map((item) => (isOfOtherService(item, service) ? { ...item, api: OTHER_SERVICE } : item));
  const { lost, container } = hostedCodeIn(all, { api, isOffered: offersCode(rest.tools), now });
  // defence: lost-code-stays-out
  const conversation = withoutLostCalls(withoutLostCode(all, lost));
  const attached = await attachedParts(conversation, resolveImages, (file) => filePart(file, api, model));
  return { ...rest, model, turns: conversationTurns(api, conversation, attached), container };
}

/** The wire format of items whose native members no service but their own accepts. */
const OTHER_SERVICE = 'other-service';

function isOfOtherService(item: OutputItem, service: string | undefined): boolean {
  return typeof item.service === 'string' && service !== undefined && item.service !== service;
}

/** Whether the provider may run code that calls one of the tools. */
export function offersCode(tools: readonly ModelTool[] = []): boolean {
  return tools.some(isForCode);
}

export function isForCode(tool: ModelTool): boolean {
  return tool.type === 'function' && tool.callers !== undefined && tool.callers !== 'direct';
}

/** Whether the model itself may call the tool. */
export function isDirect(tool: ModelTool): boolean {
  return tool.type !== 'function' || tool.callers !== 'code';
}

async function attachedParts(
  conversation: readonly OutputItem[],
  resolveImages: ModelRequest['resolveImages'],
  partOfFile: (file: FilePart) => ModelPart,
): Promise<AttachedParts> {
  const shown = new Map<OutputItem, readonly ModelPart[]>();
  for (const item of conversation) {
    const images = 'images' in item ? ((item.images ?? []) as readonly ImagePart[]) : [];
    const files = item.type === 'message' ? (item.files ?? []).map(partOfFile) : [];
    if (images.length + files.length === 0) continue;
    const ofImages = resolveImages === undefined ? images.map(imageModelPart) : await resolveImages(images);
    shown.set(item, [...ofImages, ...files]);
  }
  return shown;
}

function filePart(file: FilePart, api: string, model: string): ModelPart {
  if (takesFile(api, model, file)) return file;
  return {
    type: 'text',
    text: `[The file ${file.name} (${file.media_type}) is not shown: the model ${model} does not read such files.]`,
  };
}

function imageModelPart(image: ImagePart): ModelPart {
  const { data } = image;
  if (data !== undefined) return { ...image, data };
  return {
    type: 'text',
    text: `[The image ${image.path ?? image.sha256.slice(0, 12)} is not shown: its bytes are not available.]`,
  };
}

/** The JSON Schema of a tool's arguments, for formats that have only function tools. */
export function toolInputSchema(tool: ModelTool): Readonly<Record<string, unknown>> {
  if (tool.type === 'function') return tool.inputSchema;
  return {
    type: 'object',
    properties: { [tool.argument]: { type: 'string' } },
    required: [tool.argument],
    additionalProperties: false,
  };
}

/** Encodes the raw text of a custom tool as JSON arguments of a function tool. */
export function argumentsOfText(text: string, name: string, tools: readonly ModelTool[] = []): string {
  const tool = tools.find((candidate) => candidate.name === name);
  return withoutHalves(JSON.stringify({ [tool?.type === 'custom' ? tool.argument : 'code']: text }));
}

export function dataUrl({ media_type, data }: { readonly media_type: string; readonly data: string }): string {
  return `data:${media_type};base64,${data}`;
}

/** The members that are neither undefined nor null. */
export function nonNull<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: NonNullable<Members[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as {
    [Name in keyof Members]?: NonNullable<Members[Name]>;
  };
}

/** The temperature, if the model accepts one with the effort that is sent. */
export function modelTemperature({ model, temperature, reasoningEffort }: Prompt): number | undefined {
  const effort = reasoningEffort === undefined ? undefined : nearestEffort(modelFacts(model), reasoningEffort);
  return takesTemperature(model, effort) ? temperature : undefined;
}

/** Whether the system text marks the end of a cached prefix. */
export function marksSystem({ model, system = '', promptCache }: Prompt, isOffered = false): boolean {
  const isKnown = modelFacts(model).cacheBreakpoints === true;
  return isOffered && isKnown && system.trim() !== '' && promptCache?.marks !== false;
}

/** The schema of the answer as the model's service enforces it, if it does. */
export function answerFormat(
  api: string,
  { model, outputSchema }: Prompt,
): Readonly<Record<string, unknown>> | undefined {
  return outputSchema === undefined ? undefined : enforcedSchema(api, model, outputSchema);
}

/** The tool choice, if the model accepts one. */
export function modelToolChoice({ model, toolChoice }: Prompt): ToolChoice | undefined {
  return modelFacts(model).forcedToolChoice === false ? undefined : toolChoice;
}
