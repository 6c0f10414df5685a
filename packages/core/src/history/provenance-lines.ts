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
/** Maximum number of readers of a source. */
const MAX_READERS = 3;

const LITERALS: Readonly<Record<LiteralLabel, string>> = {
  user: 'written by the user',
  model: 'written in the script',
  'tainted-model': 'written in the script, after untrusted text had been read',
};

/** The sources of a call's arguments: first of all guarded ones. The texts are not escaped. */
export function provenanceLines({
  guarded,
  arguments: origins,
  selectedBy = {},
  control = [],
  literals,
  reasons,
}: Provenance): ProvenanceLine[] {
  const known = [...Object.keys(origins), ...Object.keys(literals), ...Object.keys(selectedBy)];
  const others = [...new Set(known)].filter((path) => !guarded.includes(path)).slice(0, MAX_OTHERS);
  const lines = [...guarded, ...others].map((path) => {
    const selectors = selectedBy[path] ?? [];
    const literal = literals[path];
    const found = origins[path] ?? [];
    const isOwn = literal !== undefined && (found.length === 0 || literal === 'user');
    const source = isOwn ? LITERALS[literal] : found.length > 0 ? `from ${originTexts(found)}` : '';
    const parts = [source, selectors.length > 0 ? `selected by ${originTexts(selectors)}` : ''].filter(Boolean);
    return { path, source: parts.join(', ') || 'of unknown source', isDoubtful: Object.hasOwn(reasons, path) };
  });
  const ofCall = reasons[''];
  if (control.length > 0)
    lines.push({ path: 'made only if', source: originTexts(control), isDoubtful: ofCall !== undefined });
  else if (ofCall !== undefined) lines.push({ path: 'the call', source: ofCall, isDoubtful: true });
  return lines;
}

function originTexts(origins: readonly ArgumentOrigin[]): string {
  return [...new Set(origins.map(originText))].join(', ');
}

function originText({ tool, line, from, call, readers }: ArgumentOrigin): string {
  const place = [line === undefined ? `call ${call}` : `line ${line}`, ...(from === undefined ? [] : [from])];
  const allowed = readers === undefined ? '' : `, only for ${readers.slice(0, MAX_READERS).join(', ') || 'nobody'}`;
  const more = (readers?.length ?? 0) > MAX_READERS ? ', …' : '';
  return `${tool} (${place.join(', ')}${allowed}${more})`;
}
