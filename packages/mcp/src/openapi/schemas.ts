import { isRecord } from '@toolscript/core/internal-data';
import { oneLine } from '../connection/readable.js';
import { SCHEMA_DATA, SCHEMA_MAPS } from '../tools/readable-schema.js';

/**
 * Maximum characters of JSON of one schema with everything that it refers to. A part that is nested too deeply for that
 * is declared as any value, so that the declarations of a large API stay readable and cost little time and memory.
 */
const MAX_SCHEMA_LENGTH = 8_000;
/** The depths to which a schema that is too long is cut, until it fits. */
const DEPTHS = [10, 8, 6, 5, 4, 3, 2, 1, 0];
const MAX_TEXT_LENGTH = 200;
const MAX_HOPS = 20;

/** Members of OpenAPI's schemas that say nothing about the type. */
const SKIPPED: ReadonlySet<string> = new Set([
  '$defs',
  '$id',
  'discriminator',
  'example',
  'examples',
  'externalDocs',
  'title',
  'xml',
]);

const DEFINITIONS = '#/$defs/';

type Json = Readonly<Record<string, unknown>>;

/** The schemas of a document, as tools need them: each has all that it refers to in its own `$defs`. */
export class DocumentSchemas {
  readonly #document: Json;
  /** The targets of references, prepared once for all tools that contain it. */
  readonly #shared = new Map<string, Json | undefined>();
  /** The name in `$defs` of each reference, and the reference of each name. */
  readonly #names = new Map<string, string>();
  readonly #references = new Map<string, string>();

  constructor(document: Json) {
    this.#document = document;
  }

  /** The object that a part of the document is or refers to; undefined if there is none in this document. */
  resolve(part: unknown): Json | undefined {
    let found = part;
    for (let hops = 0; hops < MAX_HOPS && isRecord(found); hops++) {
      const reference = found['$ref'];
      if (typeof reference !== 'string') return found;
      found = this.#at(reference);
    }
    return undefined;
  }

  /** A schema for a tool. `problems` gets a sentence for each part of it that cannot be found in the document. */
  forTool(schema: unknown, problems: Set<string>): Json {
    const root = fittingSchema(this.#prepared(this.resolve(schema) ?? schema), MAX_SCHEMA_LENGTH);
    let room = MAX_SCHEMA_LENGTH - root.length;
    const definitions = new Map<string, Json>();
    const names = [...root.references];
    // The parts nearest to the root come first.
    for (const name of names) {
      if (definitions.has(name)) continue;
      const reference = this.#references.get(name)!;
      const shared = this.#sharedSchema(reference);
      if (shared === undefined) problems.add(`nothing is at "${oneLine(reference, MAX_TEXT_LENGTH)}" of the document`);
      const part = fittingSchema(shared ?? {}, room);
      definitions.set(name, part.schema);
      room -= part.length;
      names.push(...part.references);
    }
    return definitions.size === 0 ? root.schema : { ...root.schema, $defs: Object.fromEntries(definitions) };
  }

  #sharedSchema(reference: string): Json | undefined {
    if (!this.#shared.has(reference)) {
      const target = this.#at(reference);
      this.#shared.set(reference, isRecord(target) ? this.#prepared(target) : undefined);
    }
    return this.#shared.get(reference);
  }

  /** A copy of a schema whose references lead into `$defs`. */
  #prepared(schema: unknown): Json {
    if (!isRecord(schema)) return {};
    const members = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
      if (SKIPPED.has(key) || key.startsWith('x-')) return [];
      if (key === '$ref' && typeof value === 'string') return [[key, `${DEFINITIONS}${this.#name(value)}`]];
      if (key === 'description') return typeof value === 'string' ? [[key, oneLine(value, MAX_TEXT_LENGTH)]] : [];
      if (SCHEMA_DATA.has(key)) return [[key, value]];
      return [[key, SCHEMA_MAPS.has(key) ? this.#preparedMap(value) : this.#preparedPart(value)]];
    });
    return Object.fromEntries(members);
  }

  #preparedMap(value: unknown): unknown {
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.#preparedPart(part)]));
  }

  #preparedPart(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#preparedPart(part));
    return isRecord(value) ? this.#prepared(value) : value;
  }

  #name(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const base = (reference.split('/').at(-1) ?? '').replaceAll(/\W/gu, '_') || 'schema';
    let name = base;
    for (let count = 2; this.#references.has(name); count++) name = `${base}_${count}`;
    this.#names.set(reference, name);
    this.#references.set(name, reference);
    return name;
  }

  /** The target of a reference. Another document is never read. */
  #at(reference: string): unknown {
    if (!reference.startsWith('#/')) return undefined;
    let found: unknown = this.#document;
    for (const part of reference.slice(2).split('/').map(pointerPart)) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
      found = (found as Json)[part];
    }
    return found;
  }
}

interface FittingSchema {
  readonly schema: Json;
  readonly length: number;
  /** The names in `$defs` that the schema refers to. */
  readonly references: readonly string[];
}

/** The schema, cut to the greatest depth at which it has at most `room` characters; any value if there is none. */
function fittingSchema(schema: Json, room: number): FittingSchema {
  for (const depth of [Infinity, ...DEPTHS]) {
    const references: string[] = [];
    const cut = cutSchema(schema, depth, references);
    const { length } = JSON.stringify(cut);
    if (length <= room) return { schema: cut, length, references };
  }
  return { schema: {}, length: 0, references: [] };
}

/** The keywords that are left of a schema whose parts are cut. The schema accepts more then, never less. */
const OF_THE_VALUE: ReadonlySet<string> = new Set(['type', 'enum', 'const', 'format', 'description']);

function cutSchema(schema: unknown, depth: number, references: string[]): Json {
  if (!isRecord(schema)) return schema as Json;
  const cutPart = (part: unknown): unknown =>
    Array.isArray(part)
      ? part.map((one) => cutSchema(one, depth - 1, references))
      : cutSchema(part, depth - 1, references);
  const members = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (key === '$ref' && depth > 0) references.push(String(value).slice(DEFINITIONS.length));
    if (OF_THE_VALUE.has(key) || key === '$ref' || SCHEMA_DATA.has(key))
      return depth > 0 || OF_THE_VALUE.has(key) ? [[key, value]] : [];
    if (depth === 0) return [];
    if (!SCHEMA_MAPS.has(key) || !isRecord(value)) return [[key, cutPart(value)]];
    return [[key, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, cutPart(part)]))]];
  });
  return Object.fromEntries(members);
}

/** A part of a JSON pointer in a fragment. */
function pointerPart(part: string): string {
  const unescaped = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(unescaped);
  } catch {
    return unescaped;
  }
}
