import { readdirSync, readFileSync } from 'node:fs';

/**
 * A script with the same construct as a script of another author, but rewritten. It has that author's expectations,
 * which may differ from the behaviour of Toolscript.
 */
export interface PeerScript {
  readonly name: string;
  /** Repository and path, or page, of the source of the script. */
  readonly source: string;
  /** The special feature of the script. */
  readonly construct: string;
  readonly script: string;
  readonly expected: Expected;
}

export interface Expected {
  /** JSON text of the value; empty if the script returns none. */
  readonly gives?: string;
  /** The code of the failure, and words of its message. */
  readonly fails?: { readonly code: string; readonly words: string };
  /** True: no tool was called. Present for failures. */
  readonly isRefused: boolean;
  /** Names of the tools in the order of the calls. */
  readonly calls?: readonly string[];
  /** The output of `text()`. */
  readonly output?: string;
  /** The texts of the console lines. */
  readonly logs?: readonly string[];
}

const FOLDER = new URL('peers/', import.meta.url);

/** All scripts of `peers/`: one file for each kind of source, a script after each line of `=== NAME`. */
export function peerScripts(): PeerScript[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.txt'))
    .toSorted()
    .flatMap((file) => readFileSync(new URL(file, FOLDER), 'utf8').split(/^=== /mu).slice(1).map(peerScript));
}

function peerScript(section: string): PeerScript {
  const [head = '', ...rest] = section.split('\n---\n');
  const [name = '', ...lines] = head.split('\n');
  const fields = new Map(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const failure = fields.get('refused') ?? fields.get('fails');
  const script = rest.join('\n---\n').replace(/\n+$/u, '\n');
  if (script === '' || !(fields.has('gives') || failure !== undefined)) throw new Error(`peers: ${name} is incomplete`);
  return {
    name,
    source: fields.get('source') ?? '',
    construct: fields.get('construct') ?? '',
    script,
    expected: {
      ...(fields.has('gives') ? { gives: fields.get('gives') ?? '' } : {}),
      ...(failure === undefined ? {} : { fails: failureOf(failure) }),
      isRefused: fields.has('refused'),
      ...listField('calls', fields),
      ...(fields.has('output') ? { output: JSON.parse(fields.get('output') ?? '') as string } : {}),
      ...(fields.has('logs') ? { logs: JSON.parse(fields.get('logs') ?? '') as string[] } : {}),
    },
  };
}

function failureOf(text: string): { code: string; words: string } {
  const [code = '', ...words] = text.split(' ');
  return { code, words: words.join(' ') };
}

function listField(name: string, fields: ReadonlyMap<string, string>): { calls?: readonly string[] } {
  const text = fields.get(name);
  return text === undefined ? {} : { calls: text.split(/\s+/u).filter((word) => word !== '') };
}
