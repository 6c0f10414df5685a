import { randomUUID } from 'node:crypto';
import { readFilePart } from '@toolscript/core/history';
import { MAX_FILES, MAX_IMAGES, type FilePart, type ImagePart, type OutputItem } from '@toolscript/core/protocol';
import { imageIn, MAX_IMAGE_MB } from '../http/images.js';
import { apiError } from './api-errors.js';
import { extensionItem } from './output-items.js';
import type {
  InputAudio,
  InputCallOutput,
  InputFile,
  InputImage,
  InputItem,
  InputMessage,
  InputPart,
} from './request-schema.js';

/** Converts the items of a request to the items of a run. */
export function readInput(input: string | readonly InputItem[]): OutputItem[] {
  const items: readonly InputItem[] =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  return items.flatMap((item, index) => readItem(item, `input[${index}]`));
}

function readItem(item: InputItem, param: string): OutputItem[] {
  switch (item.type) {
    case 'message':
      return [readMessage(item, param)];
    case 'function_call': {
      const { call_id, name, arguments: text } = item;
      return [{ type: 'function_call', id: newItemId(), call_id, name, arguments: text }];
    }
    case 'function_call_output':
      return [readCallOutput(item, param)];
    default:
      return [];
  }
}

function readMessage({ role, content }: InputMessage, param: string): OutputItem {
  const { text, images, files } = readContent(content, role === 'assistant' ? '' : '\n', `${param}.content`);
  const to = role === 'developer' ? 'system' : role;
  const attached = { ...(images.length === 0 ? {} : { images }), ...(files.length === 0 ? {} : { files }) };
  return { type: 'message', id: newItemId(), role: to, content: text, ...attached };
}

function readCallOutput({ call_id, output: content }: InputCallOutput, param: string): OutputItem {
  const { text: output, images, files } = readContent(content, '\n', `${param}.output`);
  if (files.length > 0)
    throw apiError(400, `"${param}.output" has files. Send them in a message of the user.`, { param });
  const shown = images.length === 0 ? {} : { images };
  return { type: 'function_call_output', id: newItemId(), call_id, output, success: true, ...shown };
}

/** Joins the texts of the content. Returns its images and files separately. */
function readContent(content: string | readonly InputPart[], separator: string, param: string) {
  if (typeof content === 'string') return { text: content, images: [], files: [] };
  const texts = content.flatMap((part) => partText(part) ?? []);
  const images = content.flatMap((part, index) =>
    part.type === 'input_image' ? [readImage(part, `${param}[${index}].image_url`)] : [],
  );
  if (images.length > MAX_IMAGES)
    throw apiError(400, `"${param}" has ${images.length} images. The maximum is ${MAX_IMAGES}. Send fewer.`, { param });
  const files = content.flatMap((part, index) =>
    part.type === 'input_file' || part.type === 'input_audio' ? [readFile(part, `${param}[${index}]`)] : [],
  );
  if (files.length > MAX_FILES)
    throw apiError(400, `"${param}" has ${files.length} files. The maximum is ${MAX_FILES}. Send fewer.`, { param });
  return { text: texts.join(separator), images, files };
}

function partText(part: InputPart): string | undefined {
  if (part.type === 'refusal') return part.refusal;
  return part.type === 'input_image' || part.type === 'input_file' || part.type === 'input_audio'
    ? undefined
    : part.text;
}

const FILE_URL = /^data:[\w/.+-]+;base64,([A-Za-z0-9+/]+={0,2})$/u;

function readFile(part: InputFile | InputAudio, param: string): FilePart {
  const isAudio = part.type === 'input_audio';
  const [, data] = isAudio ? [undefined, part.input_audio.data] : (FILE_URL.exec(part.file_data ?? '') ?? []);
  if (data === undefined)
    throw apiError(400, `"${param}.file_data" must be a data: URL in base64.`, { param: `${param}.file_data` });
  const name = isAudio ? `recording.${part.input_audio.format}` : (part.filename ?? 'file.pdf');
  const file = readFilePart(name, Buffer.from(data, 'base64'));
  if (typeof file === 'string') throw apiError(400, `"${param}" ${file}`, { param });
  return file;
}

const DATA_URL = /^data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/]+={0,2})$/u;

function readImage({ image_url: url }: InputImage, param: string): ImagePart {
  const [, media_type, data] = DATA_URL.exec(url ?? '') ?? [];
  // defence: no-fetch-of-client-urls
  if (media_type === undefined || data === undefined)
    throw apiError(
      400,
      `"${param}" must be a PNG, JPEG, GIF or WebP as a data: URL in base64. The server fetches nothing for a client.`,
      { param, code: 'invalid_image_url' },
    );
  const image = imageIn(media_type as ImagePart['media_type'], data);
  if (image === undefined)
    throw apiError(400, `"${param}" is larger than ${MAX_IMAGE_MB} MB. Send a smaller image.`, { param });
  return image;
}

function newItemId(): string {
  return `item_${randomUUID().replaceAll('-', '')}`;
}

/** Converts an item of a run's input to the form that a client reads. */
export function inputItem(item: OutputItem): object {
  switch (item.type) {
    case 'message': {
      const { id, role } = item;
      const type = role === 'assistant' ? 'output_text' : 'input_text';
      const annotations = role === 'assistant' ? { annotations: [] } : {};
      const content = [
        { type, text: item.content, ...annotations },
        ...(item.images ?? []).map(wireImage),
        ...(item.files ?? []).map(wireFile),
      ];
      return { type: 'message', id, status: 'completed', role, content };
    }
    case 'function_call': {
      const { id, call_id, name, arguments: text } = item;
      return { type: 'function_call', id, status: 'completed', call_id, name, arguments: text };
    }
    case 'function_call_output': {
      const { id, call_id, output, images = [] } = item;
      const parts = [{ type: 'input_text', text: output }, ...images.map(wireImage)];
      const shown = images.length === 0 ? output : parts;
      return { type: 'function_call_output', id, status: 'completed', call_id, output: shown };
    }
    default:
      return extensionItem(item) ?? { type: `toolscript:${item.type}`, id: item.id, status: 'completed' };
  }
}

function wireImage({ media_type, data }: ImagePart): object {
  const image_url = data === undefined ? null : `data:${media_type};base64,${data}`;
  return { type: 'input_image', image_url, detail: 'auto' };
}

function wireFile({ media_type, name, data }: FilePart): object {
  if (media_type === 'application/pdf')
    return { type: 'input_file', filename: name, file_data: `data:${media_type};base64,${data}` };
  return { type: 'input_audio', input_audio: { data, format: media_type === 'audio/wav' ? 'wav' : 'mp3' } };
}

/**
 * Throws if a call has no output, or an output has no call. `open`: calls of the conversation that wait for the client.
 * Calls of the server are excluded, because a client must not invent their results.
 */
export function checkCalls(input: readonly OutputItem[], open: Iterable<string>): void {
  const waiting = new Set(open);
  for (const item of input) {
    if (item.type === 'function_call') waiting.add(item.call_id);
    // defence: output-of-open-call
    if (item.type === 'function_call_output' && !waiting.delete(item.call_id))
      throw apiError(
        400,
        `No tool call found for function call output with call_id ${JSON.stringify(item.call_id)}. Send its function_call first, or correct call_id.`,
        {
          param: 'input',
          code: 'tool_call_not_found',
        },
      );
  }
  const [missing] = waiting;
  if (missing !== undefined)
    throw apiError(
      400,
      `No tool output found for function call ${JSON.stringify(missing)}. Send a function_call_output for it.`,
      { param: 'input', code: 'tool_output_missing' },
    );
}
