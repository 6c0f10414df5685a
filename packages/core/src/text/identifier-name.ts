/** How a script can write a tool's name after `tools.`: every part is an identifier (`get-user` → `get_user`). */
export function identifierName(name: string): string {
  return name.split('.').map(identifierSegment).join('.');
}

/** One part of a name as an identifier. */
function identifierSegment(segment: string): string {
  const identifier = segment.replace(/[^A-Za-z0-9_$]/g, '_');
  return /^[0-9]/.test(identifier) ? `_${identifier}` : identifier;
}

/**
 * All forms in which a script may write the name after `tools`: each part as an identifier or unchanged
 * (`tools.my_server.get_user`, `tools["my-server"].get_user`, …). The identifier form comes first, the name itself
 * last.
 */
export function writtenNames(name: string): string[] {
  let written = [''];
  for (const segment of name.split('.')) {
    const forms = [...new Set([identifierSegment(segment), segment])];
    written = forms.flatMap((form) => written.map((start) => (start === '' ? form : `${start}.${form}`)));
  }
  return written;
}
