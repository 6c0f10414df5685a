/**
 * The text of a string member of a JSON object that may be unfinished, as when a model still writes it. Undefined if
 * the member has not begun.
 */
export function partialStringMember(json: string, name: string): string | undefined {
  const start = new RegExp(`"${name}"\\s*:\\s*"`, 'u').exec(json);
  if (start === null) return undefined;
  const rest = json.slice(start.index + start[0].length);
  const body = /^(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*/u.exec(rest)?.[0] ?? '';
  try {
    return JSON.parse(`"${body.replaceAll(/[\u0000-\u001f]/gu, ' ')}"`) as string;
  } catch {
    return undefined;
  }
}
