import { describe, expect, onTestFinished, test } from 'vitest';
import { readFilePart } from '#core/history/index.js';
import { createProvider, startScriptedServer, type ProviderApi } from '#core/providers/index.js';
import { MAX_FILE_BYTES } from '#core/protocol/attached-file.js';
import type { FilePart } from '#core/protocol/index.js';
import { ask, user } from './asking.js';

const PDF_BYTES = Buffer.from('%PDF-1.7\n%%EOF\n');
const WAV_BYTES = Buffer.from('RIFF\x04\0\0\0WAVE', 'latin1');
const PDF = readFilePart('report.pdf', PDF_BYTES) as FilePart;
const WAV = readFilePart('call.wav', WAV_BYTES) as FilePart;
const PDF_URL = `data:application/pdf;base64,${PDF.data}`;

/** The first request of a model to whose prompt files belong. */
async function requestOf(api: ProviderApi, model: string, files: readonly FilePart[]) {
  const server = await startScriptedServer({ turns: [{ parts: [{ type: 'text', text: 'Read.' }] }] });
  onTestFinished(() => server.close());
  const provider = createProvider(api, {
    model,
    baseUrl: server.baseUrl,
    retries: { maxRetries: 0 },
    environment: {},
  });
  const { status } = await ask(provider, { conversation: [user('What is this?', { files })] });
  expect(server.violations).toEqual([]);
  expect(status).toBe('completed');
  return server.requests[0] as { input: unknown; messages: unknown };
}

describe('a PDF of a message', () => {
  test.each(['gpt-6.2-sol', 'model-1'])('is an input_file in Responses (%s)', async (model) => {
    const { input } = await requestOf('openai-responses', model, [PDF]);
    expect(input).toMatchObject([
      { content: [{ type: 'input_text' }, { type: 'input_file', filename: 'report.pdf', file_data: PDF_URL }] },
    ]);
  });

  test.each(['gpt-5.5', 'model-1'])('is a file in Chat (%s)', async (model) => {
    const { messages } = await requestOf('openai-chat', model, [PDF]);
    expect(messages).toMatchObject([
      { content: [{ type: 'text' }, { type: 'file', file: { filename: 'report.pdf', file_data: PDF_URL } }] },
    ]);
  });

  test.each(['claude-opus-5-5', 'model-1'])('is a document in Messages (%s)', async (model) => {
    const { messages } = await requestOf('anthropic-messages', model, [PDF]);
    const source = { type: 'base64', media_type: 'application/pdf', data: PDF.data };
    expect(messages).toMatchObject([
      { content: [{ type: 'text' }, { type: 'document', source, title: 'report.pdf' }] },
    ]);
  });
});

test('a recording is input_audio in Chat', async () => {
  const { messages } = await requestOf('openai-chat', 'gpt-audio-1.5', [WAV]);
  const audio = { type: 'input_audio', input_audio: { data: WAV.data, format: 'wav' } };
  expect(messages).toMatchObject([{ content: [{ type: 'text' }, audio] }]);
});

test.each<[ProviderApi, string, FilePart]>([
  ['openai-responses', 'gpt-6.2-sol', WAV],
  ['openai-responses', 'model-1', WAV],
  ['openai-chat', 'gpt-5.5', WAV],
  ['openai-chat', 'gpt-4', PDF],
  ['openai-responses', 'o3-mini', PDF],
  ['anthropic-messages', 'claude-opus-5-5', WAV],
  ['anthropic-messages', 'model-1', WAV],
])('a model that does not read a file gets its name (%s, %s, $name)', async (api, model, file) => {
  const text = JSON.stringify(await requestOf(api, model, [file]));
  expect(text).toContain(
    `[The file ${file.name} (${file.media_type}) is not shown: the model ${model} does not read such files.]`,
  );
  expect(text).not.toContain(file.data);
});

describe('the bytes of a file', () => {
  test.each([
    ['application/pdf', Buffer.concat([Buffer.alloc(500), PDF_BYTES])],
    ['audio/wav', WAV_BYTES],
    ['audio/mpeg', Buffer.from('ID3\x03', 'latin1')],
    ['audio/mpeg', Buffer.from([0xff, 0xfb, 0x90, 0x64])],
  ])('say that it is %s', (type, bytes) => {
    expect(readFilePart('name', bytes)).toMatchObject({ media_type: type, data: bytes.toString('base64') });
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a text', Buffer.from('Hello')],
    ['a PDF after the place of its header', Buffer.concat([Buffer.alloc(1024), PDF_BYTES])],
    ['an AVI film', Buffer.from('RIFF\x04\0\0\0AVI ', 'latin1')],
    ['a frame of layer II', Buffer.from([0xff, 0xfd, 0x90])],
    ['a frame of no version', Buffer.from([0xff, 0xeb, 0x90])],
  ])('are refused if they are %s', (_what, bytes) => {
    expect(readFilePart('name', bytes)).toContain('is no PDF');
  });

  test('are refused if there are too many', () => {
    expect(readFilePart('name', Buffer.alloc(MAX_FILE_BYTES + 1, '%PDF-'))).toContain('is larger than 5 MB');
  });
});

test('a service refuses a file for a model that does not read it', async () => {
  const server = await startScriptedServer({ turns: [{ parts: [{ type: 'text', text: 'Read.' }] }] });
  onTestFinished(() => server.close());
  const content = [{ type: 'input_file', filename: 'report.pdf', file_data: PDF_URL }];
  const body = { model: 'o3-mini', input: [{ type: 'message', role: 'user', content }], stream: true, store: false };
  const response = await fetch(`${server.baseUrl}/responses`, { method: 'POST', body: JSON.stringify(body) });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("'input_file' is not supported with the model 'o3-mini'");
});
