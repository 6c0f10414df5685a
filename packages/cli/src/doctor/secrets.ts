const SECRET_NAME = /key|token|secret|password|credential/iu;
const MASK = '••••••';

/** The same data with the values of members that are named like secrets masked. */
export function maskSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isSecret(name, member) ? MASK : maskSecrets(member)]),
  );
}

function isSecret(name: string, member: unknown): boolean {
  return SECRET_NAME.test(name) && typeof member === 'string' && member !== '';
}
