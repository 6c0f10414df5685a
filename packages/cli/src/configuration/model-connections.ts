import { askForModels, isRecord, limitedSignal, ownService } from '@toolscript/core/internal';
import type { ModelConnections } from '@toolscript/server/access';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError, UsageError } from '../usage-error.js';
import { PROVIDERS, readStoredKeys, storeKey, type ProviderSlug } from './provider-keys.js';

const TEST_MS = 15_000;
/** Maximum length of the provider's list of models, in UTF-16 units. */
const MAX_LIST = 1_048_576;
const MAX_MODELS = 500;

/** The keys that `toolscript connect` stores, for the page of a server. Runs that begin later use them. */
export function modelConnections(environment: NodeJS.ProcessEnv): ModelConnections {
  return {
    list: () => listProviders(environment),
    async connect(slug, key) {
      try {
        return await connectProvider(environment, slug as ProviderSlug, key);
      } catch (error) {
        if (!isUsageError(error)) throw error;
        return error.message;
      }
    },
    remove: (slug) => removeProvider(environment, slug as ProviderSlug),
  };
}

export async function listProviders(environment: NodeJS.ProcessEnv): ReturnType<ModelConnections['list']> {
  const stored = await readStoredKeys(environment);
  return Object.entries(PROVIDERS).map(([provider, { name, variable }]) => {
    const inUse = environment[variable] ?? '';
    const own = stored[variable];
    const key = inUse !== '' && inUse !== own ? 'environment' : own === undefined ? 'none' : 'stored';
    return { provider, name, key };
  });
}

/**
 * Stores a key, and uses it unless the environment has another one. `test`: false to ask the provider nothing. Returns
 * the models of the provider. Throws a UsageError for a key that is not stored.
 */
export async function connectProvider(
  environment: NodeJS.ProcessEnv,
  slug: ProviderSlug,
  text: string,
  { test = true }: { readonly test?: boolean | undefined } = {},
): Promise<readonly string[]> {
  const { name } = PROVIDERS[slug];
  const key = text.trim();
  if (!/^[!-~]+$/u.test(key))
    throw new UsageError(`This is not a key: a key is one word of ASCII characters. Copy the key of ${name} again.`);
  const models = test ? await testedModels(environment, slug, key) : [];
  await replaceKey(environment, slug, key);
  return models;
}

/** Returns whether a key was stored. */
export async function removeProvider(environment: NodeJS.ProcessEnv, slug: ProviderSlug): Promise<boolean> {
  const { [PROVIDERS[slug].variable]: known } = await readStoredKeys(environment);
  if (known === undefined) return false;
  await replaceKey(environment, slug, undefined);
  return true;
}

/** A key of the environment itself stays in use. */
async function replaceKey(environment: NodeJS.ProcessEnv, slug: ProviderSlug, key: string | undefined): Promise<void> {
  const { variable } = PROVIDERS[slug];
  const { [variable]: before } = await readStoredKeys(environment);
  await storeKey(environment, variable, key);
  const inUse = environment[variable] ?? '';
  if (inUse !== '' && inUse !== before) return;
  if (key === undefined) delete environment[variable];
  else environment[variable] = key;
}

/** Lists the provider's models with the key, which costs nothing. */
async function testedModels(environment: NodeJS.ProcessEnv, slug: ProviderSlug, key: string): Promise<string[]> {
  const { name, api } = PROVIDERS[slug];
  const { baseUrl } = ownService(api, environment)!;
  const untested = `To store the key without a test: toolscript connect ${slug} --no-test`;
  const unreachable = (error: unknown) => {
    const { cause, message } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    throw new UsageError(`${name} cannot be reached at ${visibleLine(baseUrl)}: ${visibleLine(reason)}. ${untested}`);
  };
  const asked = askForModels(api, { baseUrl, apiKey: key, signal: limitedSignal(TEST_MS) });
  const response = await asked.catch(unreachable);
  if (!response.ok) await response.body?.cancel();
  if (response.status === 401 || response.status === 403)
    throw new UsageError(
      `${name} rejects the key (status ${response.status}), so it is not stored. Copy the key again.`,
    );
  if (!response.ok) throw new UsageError(`${name} answers with status ${response.status}. ${untested}`);
  return modelIds(await listText(response).catch(unreachable));
}

/** The start of the list: a provider cannot fill the memory. */
async function listText({ body }: Response): Promise<string> {
  let text = '';
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (text.length > MAX_LIST) break;
  }
  return text;
}

/** The ids in the list; none if it is no list. The key has been accepted all the same. */
function modelIds(text: string): string[] {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    const ids = (Array.isArray(data) ? data : []).map((model: unknown) => (isRecord(model) ? model['id'] : undefined));
    return ids.filter((id) => typeof id === 'string').slice(0, MAX_MODELS);
  } catch {
    return [];
  }
}
