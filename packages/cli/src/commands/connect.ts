import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { askForModels, limitedSignal, ownService } from '@toolscript/core/internal';
import {
  PROVIDERS,
  readStoredKeys,
  storeKey,
  useStoredKeys,
  type ProviderSlug,
} from '../configuration/provider-keys.js';
import { EXIT } from '../exit-status.js';
import { readWhole, sourceFor } from '../input/source.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

export interface ConnectFlags {
  /** True to remove the stored key. */
  remove?: boolean | undefined;
  /** False to store the key without a request to the provider. */
  test?: boolean | undefined;
}

type Provider = (typeof PROVIDERS)[ProviderSlug];

/** Maximum length of a key, in bytes. */
const MAX_KEY_BYTES = 4_096;
const TEST_MS = 15_000;

/** Tests the key of a provider and stores it, or lists the providers. */
export async function connect(slug: ProviderSlug | undefined, flags: ConnectFlags): Promise<number> {
  const screen = openScreen();
  if (slug === undefined) return listProviders(screen);
  const provider = PROVIDERS[slug];
  if (flags.remove === true) return removeKey(provider, screen);
  const key = await readKey(provider, slug);
  if (flags.test !== false) screen.line(await testKey(provider, key, slug));
  await storeKey(process.env, provider.variable, key);
  screen.line(
    `Stored. ${provider.name}'s models are ready: toolscript "PROMPT". To remove the key: toolscript connect ${slug} --remove`,
  );
  return EXIT.completed;
}

/** Lets the user at a terminal connect a provider. Returns false if the user does not want to. */
export async function connectFirst(screen: Screen): Promise<boolean> {
  screen.line('No model has a key yet. The providers:');
  await listProviders(screen);
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await lines.question('Connect which one (Enter: none)? ').finally(() => lines.close());
  const slug = answer.trim();
  if (slug === '') return false;
  if (!Object.hasOwn(PROVIDERS, slug))
    throw new UsageError(
      `There is no provider ${visibleLine(slug)}. Name one of ${Object.keys(PROVIDERS).join(', ')}.`,
    );
  await connect(slug as ProviderSlug, {});
  await useStoredKeys(process.env, screen.notice);
  return true;
}

async function listProviders(screen: Screen): Promise<number> {
  const stored = await readStoredKeys(process.env);
  for (const [slug, { name, variable }] of Object.entries(PROVIDERS)) {
    const inUse = process.env[variable] ?? '';
    const own = stored[variable];
    const state =
      inUse !== '' && inUse !== own ? `key from ${variable}` : own === undefined ? 'not connected' : 'connected';
    screen.line(`${slug.padEnd(10)} ${name}: ${state}`);
  }
  screen.line('To connect one: toolscript connect PROVIDER');
  return EXIT.completed;
}

async function removeKey({ name, variable }: Provider, screen: Screen): Promise<number> {
  const { [variable]: known } = await readStoredKeys(process.env);
  if (known === undefined)
    throw new UsageError(`No key of ${name} is stored. To list the providers: toolscript connect`);
  await storeKey(process.env, variable, undefined);
  screen.line(`Removed. The key stays valid at ${name} until you revoke it there.`);
  return EXIT.completed;
}

/** The key from stdin or from a hidden line of the terminal. Never from the command line, which other users can see. */
async function readKey({ name }: Provider, slug: ProviderSlug): Promise<string> {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  const text = isTerminal ? await hiddenLine(`Key of ${name} (not shown): `) : await pipedKey(slug);
  const key = text.trim();
  if (!/^[!-~]+$/u.test(key))
    throw new UsageError(`This is not a key: a key is one word of ASCII characters. Copy the key of ${name} again.`);
  return key;
}

async function pipedKey(slug: ProviderSlug): Promise<string> {
  const source = sourceFor('-', 'chat');
  try {
    return await readWhole(source, MAX_KEY_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`The key is too long. Pipe the key alone: toolscript connect ${slug} < KEYFILE`);
  } finally {
    source.close();
  }
}

async function hiddenLine(question: string): Promise<string> {
  process.stdout.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stdout.write('\n');
  }
}

/** Lists the provider's models with the key, which costs nothing. Returns a line about the result. */
async function testKey({ name, api }: Provider, key: string, slug: ProviderSlug): Promise<string> {
  const { baseUrl } = ownService(api, process.env)!;
  const untested = `To store the key without a test: toolscript connect ${slug} --no-test`;
  const asked = askForModels(api, { baseUrl, apiKey: key, signal: limitedSignal(TEST_MS) });
  const response = await asked.catch((error: unknown) => {
    const { cause, message } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    throw new UsageError(`${name} cannot be reached at ${visibleLine(baseUrl)}: ${visibleLine(reason)}. ${untested}`);
  });
  await response.body?.cancel();
  if (response.status === 401 || response.status === 403)
    throw new UsageError(
      `${name} rejects the key (status ${response.status}), so it is not stored. Copy the key again.`,
    );
  if (!response.ok) throw new UsageError(`${name} answers with status ${response.status}. ${untested}`);
  return `${name} accepts the key.`;
}
