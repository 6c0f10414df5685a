import { obtainKeyFile, readKeyFile } from '@toolscript/core';
import type { Environment } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

const VARIABLE = 'TOOLSCRIPT_SUSPENSION_KEY';

const MIN_LENGTH = 32;

export type SuspensionSecrets = readonly (string | Uint8Array)[];

/**
 * The secrets that seal suspended scripts: the first secret seals, and every secret opens. The secrets of the
 * environment variable, separated by commas, come first. The key file is created only if the variable is unset. Throws
 * a UsageError.
 */
export function suspensionKeys(path: string, environment: Environment): SuspensionSecrets {
  const name = visibleLine(path);
  const secrets = environmentSecrets(environment);
  if (secrets.length === 0) return [obtainKeyFile(path, { name })];
  const stored = readKeyFile(path, { name });
  return stored === undefined ? secrets : [...secrets, stored];
}

/** Throws a UsageError for a secret that could be guessed. */
export function environmentSecrets(environment: Environment): readonly string[] {
  const text = environment[VARIABLE] ?? '';
  const secrets = text === '' ? [] : text.split(',').map((secret) => secret.trim());
  // defence: sealing-secrets-are-long, without it: return secrets;
  if (secrets.every((secret) => secret.length >= MIN_LENGTH)) return secrets;
  throw new UsageError(
    `${VARIABLE} contains a secret of fewer than ${MIN_LENGTH} characters. Create one: openssl rand -base64 32. Separate several with commas: the first one seals, each one opens.`,
  );
}
