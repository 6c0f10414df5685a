import { isRecord } from '@toolscript/core/internal';
import { oneLine } from '../connection/readable.js';
import { SCHEMA_DATA, SCHEMA_MAPS } from '../tools/readable-schema.js';

/**
 * Maximum characters of JSON of one schema with everything that it refers to. What is beyond is declared as any value,
 * so that the declarations of a large API stay readable and cost little memory.
 */
const MAX_SCHEMA_LENGTH = 24_000;
const MAX_HOPS = 20;

/** Members of OpenAPI's schemas that say nothing about the type. */
const SKIPPED: ReadonlySet<string> = new Set(['discriminator', 'example', 'examples', 'externalDocs', 'xml']);

type Json = Readonly<Record<string, unknown>>;

/** What a reference leads to, prepared once for all tools that contain it. */
interface SharedSchema {
  readonly schema: Json;
  /** The references inside of it. */
  readonly references: ReadonlySet<string>;
  readonly length: number;
}

/** The schemas of a document, as tools need them: each has all that it refers to in its own `$defs`. */
export class DocumentSchemas {
  readonly #document: Json;
  readonly #shared = new Map<string, SharedSchema>();
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
    const references = new Set<string>();
    const root = this.#prepared(this.resolve(schema) ?? schema, references);
    const definitions: [name: string, schema: Json][] = [];
    let room = MAX_SCHEMA_LENGTH - JSON.stringify(root).length;
    // Iteration over a set also reaches what is added meanwhile, so what is nearest to the root is added first.
    for (const reference of references) {
      const shared = this.#sharedSchema(reference);
      if (shared === undefined) problems.add(`nothing is at "${oneLine(reference, 200)}" of the document`);
      const fits = shared !== undefined && shared.length <= room;
      definitions.push([this.#name(reference), fits ? shared.schema : {}]);
      if (!fits) continue;
      room -= shared.length;
      for (const inner of shared.references) references.add(inner);
    }
    return definitions.length === 0 ? root : { ...root, $defs: Object.fromEntries(definitions) };
  }

  #sharedSchema(reference: string): SharedSchema | undefined {
    const known = this.#shared.get(reference);
    if (known !== undefined) return known;
    const target = this.#at(reference);
    if (!isRecord(target)) return undefined;
    const references = new Set<string>();
    const schema = this.#prepared(target, references);
    const shared = { schema, references, length: JSON.stringify(schema).length };
    this.#shared.set(reference, shared);
    return shared;
  }

  /** A copy of a schema whose references lead into `$defs`. `references` gets the document's own references. */
  #prepared(schema: unknown, references: Set<string>): Json {
    if (!isRecord(schema)) return {};
    const members = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
      if (SKIPPED.has(key) || key.startsWith('x-') || key === '$id' || key === '$defs') return [];
      if (key === '$ref' && typeof value === 'string') {
        references.add(value);
        return [[key, `#/$defs/${this.#name(value)}`]];
      }
      if (SCHEMA_DATA.has(key)) return [[key, value]];
      return [
        [key, SCHEMA_MAPS.has(key) ? this.#preparedMap(value, references) : this.#preparedPart(value, references)],
      ];
    });
    return Object.fromEntries(members);
  }

  #preparedMap(value: unknown, references: Set<string>): unknown {
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, this.#preparedPart(part, references)]),
    );
  }

  #preparedPart(value: unknown, references: Set<string>): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#preparedPart(part, references));
    return isRecord(value) ? this.#prepared(value, references) : value;
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

  /** What a reference leads to. Another document is never read. */
  #at(reference: string): unknown {
    // defence: openapi-references-stay-inside
    if (!reference.startsWith('#/')) return undefined;
    let found: unknown = this.#document;
    for (const part of reference.slice(2).split('/').map(pointerPart)) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
      found = (found as Json)[part];
    }
    return found;
  }
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
