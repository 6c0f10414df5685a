/**
 * Returns a tool's name as a script can write it after `tools.`: every part is an identifier (`get-user` → `get_user`).
 */
export function identifierName(name: string): string {
  return name.split('.').map(identifierSegment).join('.');
}

/** Returns one part of a name as an identifier. */
function identifierSegment(segment: string): string {
  const identifier = segment.replace(/[^A-Za-z0-9_$]/g, '_');
  return /^[0-9]/.test(identifier) ? `_${identifier}` : identifier;
}

/**
 * Returns all forms in which a script may write the name after `tools`: each part as an identifier or unchanged
 * (`tools.my_server.get_user`, `tools["my-server"].get_user`, …). The identifier form is the first, the name itself the
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
