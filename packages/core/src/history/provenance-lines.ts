import type { ArgumentOrigin, LiteralLabel, Provenance } from '../protocol/provenance.js';

/** One argument and its source, as a user reads it: `{ path: 'to', source: 'from fetchUrl (line 3, example.com)' }`. */
export interface ProvenanceLine {
  readonly path: string;
  readonly source: string;
  /** True: the user is asked because of this argument. */
  readonly isDoubtful: boolean;
}

/** Maximum number of arguments that the tool does not guard. */
const MAX_OTHERS = 4;

const LITERALS: Readonly<Record<LiteralLabel, string>> = {
  user: 'written by the user',
  model: 'written in the script',
  'tainted-model': 'written in the script, after untrusted text had been read',
};

/** The sources of a call's arguments: first of all guarded ones. The texts are not escaped. */
export function provenanceLines({ guarded, arguments: origins, literals, reasons }: Provenance): ProvenanceLine[] {
  const known = [...Object.keys(origins), ...Object.keys(literals)];
  const others = [...new Set(known)].filter((path) => !guarded.includes(path)).slice(0, MAX_OTHERS);
  return [...guarded, ...others].map((path) => {
    const literal = literals[path];
    const found = origins[path] ?? [];
    const isOwn = literal !== undefined && (found.length === 0 || literal === 'user');
    const source = isOwn
      ? LITERALS[literal]
      : found.length > 0
        ? [...new Set(found.map(originText))].join(', ')
        : 'of unknown source';
    return { path, source, isDoubtful: Object.hasOwn(reasons, path) };
  });
}

function originText({ tool, line, from, call }: ArgumentOrigin): string {
  const place = [line === undefined ? `call ${call}` : `line ${line}`, ...(from === undefined ? [] : [from])];
  return `from ${tool} (${place.join(', ')})`;
}
