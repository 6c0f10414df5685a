/** How a script can write a tool's name after `tools.`: every part is an identifier (`get-user` → `get_user`). */
export function identifierName(name: string): string {
  return name.split('.').map(identifierSegment).join('.');
}

/** One part of a name as an identifier. */
export function identifierSegment(segment: string): string {
  const identifier = segment.replace(/[^A-Za-z0-9_$]/g, '_');
  return /^[0-9]/.test(identifier) ? `_${identifier}` : identifier;
}
