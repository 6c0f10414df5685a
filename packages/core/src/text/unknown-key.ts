/** What the message about a key that a schema does not know begins with. */
export const UNKNOWN_KEY = 'unknown key';

export function isUnknownKey({ message }: { readonly message: string }): boolean {
  return message.startsWith(UNKNOWN_KEY);
}
