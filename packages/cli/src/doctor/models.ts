import { findAgents, type FoundAgent } from '../agents/agent-files.js';
import { agentService, keyVariable } from '@toolscript/core/agent';
import { limitedSignal } from '@toolscript/core/internal';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { maskAddress } from './secrets.js';
import type { Check } from './checks.js';

const PATIENCE_MS = 1_000;

/**
 * Checks which agents can use their models. An agent that needs a key is ready if the key is set. An agent that needs
 * no key is ready if its server is on another machine, or if its server on this machine answers.
 */
export async function checkModels(
  environment: Environment,
  cwd: string,
  warn: (message: string) => void,
): Promise<Check[]> {
  const agents = [...(await findAgents(environment, cwd, warn)).values()];
  const found = await Promise.all(agents.map((agent) => modelState(agent, environment)));
  const ready = found.filter(({ isReady }) => isReady);
  const detail = found.map(({ says }) => says).join('; ');
  if (ready.length > 0) return [{ name: 'models', status: 'ok', detail }];
  const keys = [
    ...new Set(agents.map(({ config }) => keyVariable(config, environment)).filter((name) => name !== undefined)),
  ];
  return [
    {
      name: 'models',
      status: 'warning',
      detail,
      fix: `To use a model, set ${keys.join(' or ')}, or start Ollama.`,
    },
  ];
}

async function modelState(
  { config }: FoundAgent,
  environment: Environment,
): Promise<{ isReady: boolean; says: string }> {
  const slug = visibleLine(config.slug);
  const key = keyVariable(config, environment);
  const baseUrl = config.provider?.baseUrl;
  if (key !== undefined) {
    const isSet = (environment[key] ?? '') !== '';
    return {
      isReady: isSet,
      says: `${slug}: ${visibleLine(key)} is ${isSet ? '' : 'not '}set${modelAddress(config, environment)}`,
    };
  }
  if (baseUrl === undefined) return { isReady: false, says: `${slug}: names no provider` };
  if (!isHere(baseUrl)) return { isReady: true, says: `${slug}: needs no key` };
  const answers = await doesAnswer(baseUrl);
  return {
    isReady: answers,
    says: `${slug}: ${visibleLine(maskAddress(baseUrl))} ${answers ? 'answers' : 'does not answer'}`,
  };
}

/** The address that a model is asked at, and what sets it. Empty for the vendor's own. */
function modelAddress({ provider }: FoundAgent['config'], environment: Environment): string {
  const service = provider === undefined ? undefined : agentService(provider, environment);
  const baseUrl = provider?.baseUrl ?? (service?.addressVariable === undefined ? undefined : service.baseUrl);
  if (baseUrl === undefined) return '';
  const by = service?.addressVariable === undefined ? '' : ` (${service.addressVariable})`;
  return `, at ${visibleLine(maskAddress(baseUrl))}${by}`;
}

/** Whether an address is on this machine. The doctor contacts no other machine. */
function isHere(baseUrl: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(baseUrl).hostname);
}

async function doesAnswer(baseUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl.replace(/\/$/u, '')}/models`, { signal: limitedSignal(PATIENCE_MS) });
    await response.body?.cancel();
    return true;
  } catch {
    return false;
  }
}
