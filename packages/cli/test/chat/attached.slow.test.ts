import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startScriptedServer } from '@toolscript/core/providers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Scene, text } from './scene.js';

/** The header of a PNG image of 3 by 2 pixels. */
const PNG = Buffer.from('89504e470d0a1a0a0000000d4948445200000003000000020802000000', 'hex');

const PDF = Buffer.from('%PDF-1.7');

describe('--file', () => {
  it.each(['openai-responses', 'openai-chat', 'anthropic-messages'])(
    'gives the PDF to a model of %s with its prompt',
    async (api) => {
      const scene = new Scene();
      const server = await startScriptedServer({ turns: [text('A report.')], api_key: 'the key' });
      onTestFinished(() => server.close());
      mkdirSync(join(scene.base, 'config/toolscript/agents'), { recursive: true });
      const provider = { api, model: 'm', baseUrl: server.baseUrl, apiKeyEnv: 'MY_KEY' };
      writeFileSync(scene.ownFile('agents/mine.json'), JSON.stringify({ slug: 'mine', provider }));
      writeFileSync(join(scene.base, 'report.pdf'), PDF);
      const words = ['chat', 'What is this?', '--file', join(scene.base, 'report.pdf'), '--agent', 'mine'];
      expect(await scene.run(words, { env: { MY_KEY: 'the key' } })).toMatchObject({ status: 0 });
      expect(server.violations).toEqual([]);
      expect(JSON.stringify(server.requests[0])).toContain(PDF.toString('base64'));
    },
  );

  it('refuses what is neither a PDF nor a recording, before a model is asked', async () => {
    const scene = new Scene();
    const at = (name: string) => join(scene.base, name);
    writeFileSync(at('notes.txt'), 'no PDF');
    writeFileSync(at('large.pdf'), Buffer.alloc(5 * 1024 * 1024 + 1, PDF));
    const refusal = async (...files: string[]) => {
      const flags = files.flatMap((name) => ['--file', at(name)]);
      const { status, stderr } = await scene.chat('What is this?', [text('Never.')], flags);
      expect(status).toBe(2);
      return stderr;
    };
    expect(await refusal('none.pdf')).toContain('Check the path after --file');
    expect(await refusal('notes.txt')).toContain('is no PDF, and no WAV or MP3 recording');
    expect(await refusal('large.pdf')).toContain('is larger than 5 MB');
    expect(await refusal(...Array.from({ length: 5 }, () => 'notes.txt'))).toContain('at most 4 files');
  });
});

describe('--image', () => {
  it.each(['openai-responses', 'openai-chat', 'anthropic-messages'])(
    'gives the image to a model of %s with its prompt, and later again',
    async (api) => {
      const scene = new Scene();
      const server = await startScriptedServer({ turns: [text('A dot.'), text('Still a dot.')], api_key: 'the key' });
      onTestFinished(() => server.close());
      mkdirSync(join(scene.base, 'config/toolscript/agents'), { recursive: true });
      const provider = { api, model: 'm', baseUrl: server.baseUrl, apiKeyEnv: 'MY_KEY' };
      writeFileSync(scene.ownFile('agents/mine.json'), JSON.stringify({ slug: 'mine', provider }));
      const image = join(scene.base, 'dot.png');
      writeFileSync(image, PNG);
      const say = async (...words: string[]) => {
        const finished = await scene.run(['chat', ...words, '--agent', 'mine'], { env: { MY_KEY: 'the key' } });
        expect(finished).toMatchObject({ status: 0 });
        return JSON.stringify(server.requests.at(-1));
      };
      expect(await say('What is this?', '--image', image)).toContain(PNG.toString('base64'));
      expect(await say('Sure?', '--continue')).toContain(PNG.toString('base64'));
    },
  );

  it('refuses what is no image, before a model is asked', async () => {
    const scene = new Scene();
    const at = (name: string) => join(scene.base, name);
    writeFileSync(at('notes.png'), 'no image');
    writeFileSync(at('large.png'), Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]));
    writeFileSync(at('cut.png'), PNG.subarray(0, 12));
    writeFileSync(at('empty.png'), '');
    if (process.platform !== 'win32') execFileSync('mkfifo', [at('pipe.png')]);
    const refusal = async (...images: string[]) => {
      const flags = images.flatMap((name) => ['--image', at(name)]);
      const { status, stderr } = await scene.chat('What is this?', [text('Never.')], flags);
      expect(status).toBe(2);
      return stderr;
    };
    expect(await refusal('none.png')).toContain('There is no file');
    expect(await refusal('notes.png')).toContain('is not a complete PNG, JPEG, GIF or WebP image');
    expect(await refusal('empty.png')).toContain('is not a complete PNG, JPEG, GIF or WebP image');
    expect(await refusal('cut.png')).toContain('is not a complete PNG, JPEG, GIF or WebP image');
    expect(await refusal('large.png')).toContain('is larger than 5 MB');
    expect(await refusal('.')).toContain('is not a file');
    if (process.platform !== 'win32') expect(await refusal('pipe.png')).toContain('is not a file');
    expect(await refusal(...Array.from({ length: 9 }, () => 'notes.png'))).toContain('at most 8 images');
  });
});
