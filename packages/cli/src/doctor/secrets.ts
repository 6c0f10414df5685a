const SECRET_NAME = /key|token|secret|passw|passphrase|credential|authorization|bearer|cookie|^auth$/iu;
/** The names of secrets that may be numbers. `maxTokens` is no secret. */
const SECRET_NUMBER_NAME = /secret|passw|passphrase|credential|^pin$/iu;
const MASK = '••••••';

/** Masks secrets in data, at any depth: the texts and numbers below a secret's name, and the secrets in addresses. */
export function maskSecrets(value: unknown, name = ''): unknown {
  // defence: secrets-masked-below-their-name
  if (SECRET_NAME.test(name) && (typeof value !== 'number' || SECRET_NUMBER_NAME.test(name))) return maskAll(value);
  if (typeof value === 'string') return maskAddress(value);
  if (Array.isArray(value)) return value.map((member) => maskSecrets(member));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, maskSecrets(member, key)]));
}

/** Masks user names, passwords, and parameters with a secret's name, in every address in the text. */
export function maskAddress(text: string): string {
  return text
    .replace(/(?<=:\/\/)[^\s/?#@]+(?=@)/gu, MASK)
    .replace(/(?<=[?&#]([^\s=&#]+)=)[^\s&#]+/gu, (found: string, name: string) =>
      SECRET_NAME.test(name) ? MASK : found,
    );
}

function maskAll(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? '' : MASK;
  if (typeof value === 'number') return MASK;
  if (Array.isArray(value)) return value.map(maskAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, maskAll(member)]));
}
