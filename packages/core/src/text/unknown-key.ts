/** The prefix of messages about keys that a schema does not define. */
export const UNKNOWN_KEY = 'unknown key';

export function isUnknownKey({ message }: { readonly message: string }): boolean {
  return message.startsWith(UNKNOWN_KEY);
}
