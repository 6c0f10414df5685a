import type { JsonObject, JsonValue } from '../protocol/json.js';
import { schemaTree } from './read-schema.js';
import { Schema, type SchemaNode } from './tree.js';

/** The style in which the type of a schema is written. */
export interface TypeStyle {
  /** A comment after each member: description, default, format. */
  readonly memberDocs: boolean;
  /** Includes members that the schema marks `deprecated`, if they may be absent or are part of a result. */
  readonly deprecated: boolean;
  /** Objects below this depth are abbreviated. */
  readonly maxDepth: number;
  /** True: everything is on one line. */
  readonly oneLine: boolean;
}

const MAX_MEMBER_DOC = 300;
/** Maximum characters of an object without comments on one line. */
const MAX_LINE = 120;
const MAX_CHOICES = 60;
/**
 * The maximum depth of types in every style. Deeper types are `any` or `unknown`, because no reader follows further.
 */
const DEPTH_CEILING = 24;
/** Maximum nodes for one schema; all further nodes are `any` or `unknown`. */
const MAX_NODES = 3_000;
/**
 * The maximum length of shown texts. Members with longer names are omitted, and longer literals are shown as `string`.
 */
const MAX_TEXT = 200;
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/**
 * Writes JSON Schemas as TypeScript types. One writer serves one tool; types that refer to themselves, or are used more
 * than once, become named types, which `definitions` contains. Never looks outside of a schema.
 */
export class SchemaTypeWriter {
  /** The definitions `type Name = …;`, in the order of their first use. */
  readonly definitions: string[] = [];
  readonly #prefix: string;
  readonly #style: TypeStyle;
  readonly #names = new Map<Schema, string>();
  readonly #usedNames = new Set<string>();
  #part = '';
  #unknownType: 'any' | 'unknown' = 'unknown';
  #root: Schema | undefined;
  #references: ReadonlyMap<Schema, number> = new Map();
  #nodes = 0;
  /** The schemas that are being written, except those outside of the innermost array or object. */
  #bare: ReadonlySet<Schema> = new Set();

  constructor(prefix: string, style: TypeStyle) {
    this.#prefix = prefix;
    this.#style = style;
  }

  /**
   * Returns the type of a schema. `unknownType`: the type for a schema without information. `part` separates the names
   * of one schema from those of another schema that is written for the same tool.
   */
  write(json: JsonObject, unknownType: 'any' | 'unknown', part = ''): string {
    const { root, schemas } = schemaTree(json);
    this.#part = part;
    this.#unknownType = unknownType;
    this.#root = root;
    this.#references = referenceCounts(schemas.values());
    this.#nodes = 0;
    return this.#references.has(root) ? this.#target(root, '#', 0) : this.#type(root, 0);
  }

  #type(schema: SchemaNode | undefined, depth: number): string {
    if (schema === undefined) return this.#unknownType;
    this.#nodes += 1;
    if (schema === false || (schema.not && schema.not.isEmpty)) return 'never';
    if (depth > DEPTH_CEILING || this.#nodes > MAX_NODES) return this.#unknownType;
    const { reference } = schema;
    const type =
      reference === undefined
        ? this.#unreferencedType(schema, depth)
        : this.#target(reference.target, reference.name, depth);
    return schema.nullable ? joinUnion([type, 'null']) : type;
  }

  #unreferencedType(schema: Schema, depth: number): string {
    const { constant, choices, types } = schema;
    if (constant !== undefined) return this.#literal(constant.value);
    if (choices !== undefined) return this.#enumeration(choices);
    if ((schema.anyOf ?? schema.oneOf ?? schema.allOf) !== undefined) return this.#combination(schema, depth);
    if (types !== undefined) return joinUnion(types.map((type) => this.#plain(type, schema, depth)));
    if ((schema.properties ?? schema.additionalProperties) !== undefined) return this.#object(schema, depth);
    return (schema.items ?? schema.prefixItems) === undefined ? this.#unknownType : this.#array(schema, depth);
  }

  #plain(type: string, schema: Schema, depth: number): string {
    if (type === 'array') return this.#array(schema, depth);
    if (type === 'object') return this.#object(schema, depth);
    if (type === 'string' && schema.isBase64 && this.#unknownType === 'unknown') return 'string | Uint8Array';
    return type === 'integer' ? 'number' : type;
  }

  #target(target: SchemaNode | undefined, reference: string, depth: number): string {
    if (!target) return target === false ? 'never' : this.#unknownType;
    // A type that refers only to itself is invalid.
    if (this.#bare.has(target)) return this.#unknownType;
    const known = this.#names.get(target);
    if (known !== undefined) return known;
    const isNamed = (this.#references.get(target) ?? 0) > 1 || target === this.#root;
    return this.#within([...this.#bare, target], () =>
      isNamed ? this.#define(target, reference) : this.#type(target, depth + 1),
    );
  }

  #within<Text>(bare: readonly Schema[], write: () => Text): Text {
    const outer = this.#bare;
    this.#bare = new Set(bare);
    const text = write();
    this.#bare = outer;
    return text;
  }

  #define(target: Schema, reference: string): string {
    const name = this.#nameFor(reference);
    this.#names.set(target, name);
    const place = this.definitions.push('') - 1;
    this.definitions[place] = `type ${name} = ${this.#type(target, 0)};`;
    return name;
  }

  /**
   * Returns a name for a referenced schema. The part after the last `_` comes from the schema, so that names of
   * different tools cannot collide.
   */
  #nameFor(reference: string): string {
    const last = reference.slice(reference.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9]+/g, '');
    const base = `${this.#prefix}_${this.#part}${last === '' ? 'Root' : last.slice(0, 60)}`;
    let name = base;
    for (let count = 2; this.#usedNames.has(name); count++) name = `${base}${count}`;
    this.#usedNames.add(name);
    return name;
  }

  #enumeration(values: readonly JsonValue[]): string {
    const isLong = values.length > MAX_CHOICES;
    const kind = (value: JsonValue) =>
      value === null || typeof value === 'object' ? this.#literal(value) : typeof value;
    return joinUnion(values.map((value) => (isLong ? kind(value) : this.#literal(value))));
  }

  #literal(value: JsonValue): string {
    if (value === null) return 'null';
    if (typeof value === 'string' && value.length > MAX_TEXT) return 'string';
    return typeof value === 'object' ? this.#unknownType : safeJson(value);
  }

  #combination(schema: Schema, depth: number): string {
    const { anyOf, oneOf, allOf = [] } = schema;
    const rest = { ...schema, anyOf: undefined, oneOf: undefined, allOf: undefined };
    const objects: Schema[] = rest.properties === undefined ? [] : [rest];
    const parts: string[] = [];
    for (const part of allOf) {
      if (isPlainObjectSchema(part)) objects.push(withRequired(part, rest.required));
      else parts.push(this.#type(part, depth + 1));
    }
    for (const merged of mergeObjects(objects)) parts.push(this.#object(merged, depth));
    const union = anyOf ?? oneOf;
    if (union !== undefined) parts.push(joinUnion(union.map((branch) => this.#type(branch, depth + 1))));
    const telling = [...new Set(parts)].filter((part) => part !== this.#unknownType);
    if (telling.length === 0)
      return schema.types === undefined ? this.#unknownType : this.#unreferencedType(rest, depth);
    return telling.length === 1 ? telling[0]! : telling.map(parenthesisedType).join(' & ');
  }

  // The content of an array or object may refer to any type, including the type that is being written.
  #array({ prefixItems = [], items, bounds = [] }: Schema, depth: number): string {
    const write = (item: SchemaNode | undefined) => this.#within([], () => this.#type(item, depth + 1));
    if (prefixItems.length === 0) return `${parenthesisedType(write(items))}[]`;
    const least = bounds.find(({ keyword }) => keyword === 'minItems')?.limit ?? 0;
    const members = prefixItems.map((item, index) => {
      const type = write(item);
      return index < least ? type : `${parenthesisedType(type)}?`;
    });
    if (items) {
      const type = write(items);
      // TypeScript resolves a spread at once, so the spread may not contain the type that is being written.
      members.push(`...${this.#refersToNamed(type) ? this.#unknownType : parenthesisedType(type)}[]`);
    }
    return `[${members.join(', ')}]`;
  }

  #object(schema: Schema, depth: number): string {
    const { properties } = schema;
    const required = new Set(schema.required);
    const keys = [...new Set([...(properties?.keys() ?? []), ...required])].filter((key) => key.length <= MAX_TEXT);
    if (keys.length === 0) return this.#record(schema, depth);
    if (depth >= this.#style.maxDepth) return 'object';
    const members = keys.flatMap((key) => this.#member(key, properties?.get(key), required.has(key), depth));
    if (isOpen(schema)) members.push({ type: `[key: string]: ${this.#unknownType};`, doc: '' });
    if (members.length === 0) return '{}';
    const line = members.map(({ type }) => type).join(' ');
    const isOneLine = members.every(({ doc }) => doc === '') && !line.includes('\n') && line.length <= MAX_LINE;
    if (this.#style.oneLine || isOneLine) return `{ ${line.replace(/;$/, '')} }`;
    return `{\n${members.map((member) => `  ${withDoc(member).replaceAll('\n', '\n  ')}\n`).join('')}}`;
  }

  /** Returns nothing for a deprecated member that is omitted. A required argument is always shown. */
  #member(key: string, schema: SchemaNode | undefined, required: boolean, depth: number): Member[] {
    const isDeprecated = !this.#style.deprecated && schema && schema.deprecated;
    if (isDeprecated && (!required || this.#unknownType === 'any')) return [];
    const type = this.#within([], () => this.#type(schema, depth + 1));
    const doc = this.#style.memberDocs && schema ? memberDoc(schema) : '';
    return [{ type: `${propertyName(key)}${required ? '' : '?'}: ${type};`, doc }];
  }

  #record({ properties, additionalProperties, patternProperties = [] }: Schema, depth: number): string {
    const values: (SchemaNode | undefined)[] = patternProperties.map(({ schema }) => schema);
    const isClosed = additionalProperties === false || (additionalProperties === undefined && properties !== undefined);
    if (isClosed && values.length === 0) return 'Record<string, never>';
    if (additionalProperties !== false) values.push(additionalProperties);
    const type = joinUnion(values.map((value) => this.#within([], () => this.#type(value, depth + 1))));
    // `Record` may not contain the type that is being written; an index signature may.
    return this.#refersToNamed(type) ? `{ [key: string]: ${type} }` : `Record<string, ${type}>`;
  }

  #refersToNamed(type: string): boolean {
    return [...this.#usedNames].some((name) => type.includes(name));
  }
}

interface Member {
  /** The member as TypeScript, including its name. */
  readonly type: string;
  /** The text of the member's comment; empty if the member has no comment. */
  readonly doc: string;
}

/** Returns the type of a member, with the comment at the end of the first line. */
function withDoc({ type, doc }: Member): string {
  return doc === '' ? type : type.replace(/$/m, () => ` // ${doc}`);
}

function referenceCounts(schemas: Iterable<Schema>): Map<Schema, number> {
  const counts = new Map<Schema, number>();
  for (const { reference } of schemas)
    if (reference?.target) counts.set(reference.target, (counts.get(reference.target) ?? 0) + 1);
  return counts;
}

/**
 * Whether an object may have members that the schema does not name. A schema with `properties` that does not specify
 * this counts as closed.
 */
function isOpen({ properties, additionalProperties, patternProperties = [] }: Schema): boolean {
  if (additionalProperties || patternProperties.length > 0) return true;
  if (properties === undefined) return additionalProperties === undefined;
  return [...properties.keys()].some((key) => key.length > MAX_TEXT);
}

/** Returns a part of an `allOf`, in which the names in `required` are required too if the part has such members. */
function withRequired(part: Schema, required: readonly string[]): Schema {
  const own = required.filter((key) => part.properties?.has(key));
  return { ...part, required: [...part.required, ...own] };
}

export function isPlainObjectSchema(schema: SchemaNode): schema is Schema {
  if (schema === false || schema.properties === undefined || schema.nullable) return false;
  return (schema.reference ?? schema.anyOf ?? schema.oneOf ?? schema.allOf) === undefined;
}

/** Joins the schemas into one object if no two of them describe the same key. Otherwise returns them unchanged. */
function mergeObjects(objects: readonly Schema[]): readonly Schema[] {
  const members = objects.flatMap(({ properties }) => [...(properties ?? [])]);
  const properties = new Map(members);
  if (objects.length < 2 || properties.size < members.length) return objects;
  const required = objects.flatMap((object) => object.required);
  const open = objects.some(isOpen) ? new Schema([]) : false;
  return [{ ...new Schema([]), properties, required, additionalProperties: open }];
}

export function joinUnion(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== 'never');
  if (different.length === 0) return 'never';
  const top = different.find((type) => type === 'any' || type === 'unknown');
  return top ?? different.join(' | ');
}

/** Adds parentheses around a type that contains `|` or `&` at its top level. */
export function parenthesisedType(type: string): string {
  let depth = 0;
  for (let index = 0; index < type.length; index++) {
    const character = type[index] as string;
    if (character === '"') index = endOfQuoted(type, index);
    else if (type.startsWith('//', index)) index = type.indexOf('\n', index);
    else if ('({[<'.includes(character)) depth += 1;
    else if (')}]>'.includes(character)) depth -= 1;
    else if ((character === '|' || character === '&') && depth === 0) return `(${type})`;
  }
  return type;
}

function endOfQuoted(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index;
}

/** Returns a member's name as TypeScript: quoted if it is not an identifier, with invisible characters escaped. */
export function propertyName(key: string): string {
  return IDENTIFIER.test(key) ? key : safeJson(key);
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns JSON text with escapes for line separators, direction marks and all invisible characters. */
function safeJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').replace(UNSEEN, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

function memberDoc({ description, default: value, format }: Schema): string {
  const parts: string[] = [];
  if (description !== undefined) parts.push(docText(description, MAX_MEMBER_DOC));
  if (isInformative(value)) parts.push(`default ${docText(safeJson(value), 80)}`);
  if (format !== undefined) parts.push(`format ${docText(format, 40)}`);
  return parts.filter((part) => part !== '').join('; ');
}

/** Whether a default is worth a comment: readers expect false, 0 or an empty value for an omitted member. */
function isInformative(value: JsonValue | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && !['', 0, false].includes(value as never);
}

/**
 * Returns text for a comment, on one line and without invisible characters. After `maxLength` characters, an ellipsis
 * replaces the rest.
 */
export function docText(text: string, maxLength: number): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\s]+/gu, ' ').trim();
  const cut = line.length > maxLength ? `${line.slice(0, maxLength).trimEnd()}…` : line;
  return cut.replace(/[\ud800-\udbff](?![\udc00-\udfff])/g, '');
}
