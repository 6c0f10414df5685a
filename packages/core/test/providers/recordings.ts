import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProviderApi } from '#core/providers/index.js';

/**
 * Recorded answers of real providers. They are not part of the repository. The tests look for them in the folder that
 * `TOOLSCRIPT_STREAM_FIXTURES` names, or next to the checkout, and print a warning if there are none.
 */

const FOLDERS: Readonly<Record<ProviderApi, string>> = {
  'openai-responses': 'responses',
  'openai-chat': 'chat',
  'anthropic-messages': 'messages',
};

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..');

const folder = [process.env.TOOLSCRIPT_STREAM_FIXTURES, join(root, '../shared/fixtures/provider-streams')].find(
  (path) => path !== undefined && path !== '' && existsSync(join(path, 'manifest.json')),
);

export const haveRecordings = folder !== undefined;

if (!haveRecordings) {
  console.warn(
    '\n!!! No recorded provider streams: the tests that compare with the official SDKs ARE SKIPPED.\n' +
      '!!! TOOLSCRIPT_STREAM_FIXTURES names the folder that holds their manifest.json.\n',
  );
}

export interface Recording {
  readonly api: ProviderApi;
  readonly kind: 'stream' | 'error';
  /** The name of the recording, short and unique: the file's name without its ending. */
  readonly name: string;
  readonly status: number;
  readonly body: Buffer;
}

interface ManifestEntry {
  readonly file: string;
  readonly status?: number;
}

export function recordings(api: ProviderApi, kind: Recording['kind']): Recording[] {
  if (folder === undefined) return [];
  const entries = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as ManifestEntry[];
  const statuses = new Map(entries.map(({ file, status }) => [file, status]));
  const path = join(FOLDERS[api], kind);
  return readdirSync(join(folder, path))
    .toSorted()
    .map((file) => ({
      api,
      kind,
      name: file.replace(/\.\w+$/u, ''),
      status: statuses.get(`${path}/${file}`) ?? 200,
      body: readFileSync(join(folder, path, file)),
    }));
}
