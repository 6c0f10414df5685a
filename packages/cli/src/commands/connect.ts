import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { connectProvider, listProviders, removeProvider } from '../configuration/model-connections.js';
import { PROVIDERS, type ProviderSlug } from '../configuration/provider-keys.js';
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

/** Tests the key of a provider and stores it, or lists the providers. */
export async function connect(slug: ProviderSlug | undefined, { remove, test }: ConnectFlags): Promise<number> {
  const screen = openScreen();
  if (slug === undefined) return showProviders(screen);
  const provider = PROVIDERS[slug];
  if (remove === true) return removeKey(provider, slug, screen);
  await connectProvider(process.env, slug, await readKey(provider, slug), { test });
  if (test !== false) screen.line(`${provider.name} accepts the key.`);
  screen.line(
    `Stored. ${provider.name}'s models are ready: toolscript "PROMPT". To remove the key: toolscript connect ${slug} --remove`,
  );
  return EXIT.completed;
}

/** Lets the user at a terminal connect a provider. Returns false if the user does not want to. */
export async function connectFirst(screen: Screen): Promise<boolean> {
  screen.line('No model has a key yet. The providers:');
  await showProviders(screen);
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await lines.question('Connect which one (Enter: none)? ').finally(() => lines.close());
  const slug = answer.trim();
  if (slug === '') return false;
  if (!Object.hasOwn(PROVIDERS, slug))
    throw new UsageError(
      `There is no provider ${visibleLine(slug)}. Name one of ${Object.keys(PROVIDERS).join(', ')}.`,
    );
  await connect(slug as ProviderSlug, {});
  return true;
}

async function showProviders(screen: Screen): Promise<number> {
  for (const { provider, name, key } of await listProviders(process.env)) {
    const variable = PROVIDERS[provider as ProviderSlug].variable;
    const state = { environment: `key from ${variable}`, none: 'not connected', stored: 'connected' }[key];
    screen.line(`${provider.padEnd(10)} ${name}: ${state}`);
  }
  screen.line('To connect one: toolscript connect PROVIDER');
  return EXIT.completed;
}

async function removeKey({ name }: Provider, slug: ProviderSlug, screen: Screen): Promise<number> {
  if (!(await removeProvider(process.env, slug)))
    throw new UsageError(`No key of ${name} is stored. To list the providers: toolscript connect`);
  screen.line(`Removed. The key stays valid at ${name} until you revoke it there.`);
  return EXIT.completed;
}

/** The key from stdin or from a hidden line of the terminal. Never from the command line, which other users can see. */
function readKey({ name }: Provider, slug: ProviderSlug): Promise<string> {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  return isTerminal ? hiddenLine(`Key of ${name} (not shown): `) : pipedKey(slug);
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
