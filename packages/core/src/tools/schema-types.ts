import { type JsonObject, isRecord } from '../protocol/json.js';
import { isLocalReference, isSchemaNode, resolveReference } from './schema-lookup.js';

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
  readonly #names = new Map<object, string>();
  readonly #usedNames = new Set<string>();
  #part = '';

  constructor(prefix: string, style: TypeStyle) {
    this.#prefix = prefix;
    this.#style = style;
  }

  /**
   * Returns the type of a schema. `unknownType`: the type for a schema without information. `part` separates the names
   * of one schema from those of another schema that is written for the same tool.
   */
  write(schema: JsonObject, unknownType: 'any' | 'unknown', part = ''): string {
    this.#part = part;
    const indent = '';
    const context: SchemaContext = {
      root: schema,
      counts: countReferences(schema),
      unknownType,
      nodes: 0,
      bare: new Set(),
    };
    return context.counts.has(schema)
      ? this.#reference('#', context, indent, 0)
      : this.#type(schema, context, indent, 0);
  }

  #type(schema: unknown, context: SchemaContext, indent: string, depth: number): string {
    context.nodes += 1;
    if (schema === false || isNothing(schema)) return 'never';
    if (!isRecord(schema) || depth > DEPTH_CEILING || context.nodes > MAX_NODES) return context.unknownType;
    const reference = schema['$ref'] ?? schema['$dynamicRef'] ?? schema['$recursiveRef'];
    const type =
      reference === undefined
        ? this.#unreferenced(schema as JsonObject, context, indent, depth)
        : this.#reference(reference, context, indent, depth);
    return schema['nullable'] === true ? joinUnion([type, 'null']) : type;
  }

  #unreferenced(schema: JsonObject, context: SchemaContext, indent: string, depth: number): string {
    if ('const' in schema) return literal(schema['const'], context);
    if (Array.isArray(schema['enum'])) return this.#enumeration(schema['enum'], context);
    const union = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(union) || Array.isArray(schema['allOf']))
      return this.#combination(schema, union, context, indent, depth);
    if (Array.isArray(schema['type'])) {
      return joinUnion(schema['type'].map((type) => this.#unreferenced({ ...schema, type }, context, indent, depth)));
    }
    return this.#plain(schema, context, indent, depth);
  }

  #plain(schema: JsonObject, context: SchemaContext, indent: string, depth: number): string {
    switch (schema['type']) {
      case 'string':
        return 'string';
      case 'number':
      case 'integer':
        return 'number';
      case 'boolean':
        return 'boolean';
      case 'null':
        return 'null';
      case 'array':
        return this.#array(schema, context, indent, depth);
      case 'object':
        return this.#object(schema, context, indent, depth);
    }
    if (isRecord(schema['properties']) || isSchemaNode(schema['additionalProperties']))
      return this.#object(schema, context, indent, depth);
    return schema['items'] !== undefined || schema['prefixItems'] !== undefined
      ? this.#array(schema, context, indent, depth)
      : context.unknownType;
  }

  #reference(reference: unknown, context: SchemaContext, indent: string, depth: number): string {
    const target = isLocalReference(reference) ? resolveReference(context.root, reference) : undefined;
    if (!isRecord(target)) return target === false ? 'never' : context.unknownType;
    // A type that refers only to itself is invalid.
    if (context.bare.has(target)) return context.unknownType;
    const known = this.#names.get(target);
    if (known !== undefined) return known;
    const isNamed = (context.counts.get(target) ?? 0) > 1 || target === context.root;
    const outer = context.bare;
    context.bare = new Set([...outer, target]);
    const type = isNamed
      ? this.#define(target, String(reference), context)
      : this.#type(target, context, indent, depth + 1);
    context.bare = outer;
    return type;
  }

  #define(target: object, reference: string, context: SchemaContext): string {
    const name = this.#nameFor(reference);
    this.#names.set(target, name);
    this.definitions.push('');
    const place = this.definitions.length - 1;
    this.definitions[place] = `type ${name} = ${this.#type(target, context, '', 0)};`;
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

  #enumeration(values: readonly unknown[], context: SchemaContext): string {
    if (values.length === 0) return 'never';
    if (values.length > MAX_CHOICES) return joinUnion(values.map((value) => kindOf(value, context)));
    return joinUnion(values.map((value) => literal(value, context)));
  }

  #combination(schema: JsonObject, union: unknown, context: SchemaContext, indent: string, depth: number): string {
    const { anyOf: _anyOf, oneOf: _oneOf, allOf, ...rest } = schema;
    const objects: JsonObject[] = [];
    const parts: string[] = [];
    if (isRecord(rest['properties'])) objects.push(rest);
    for (const part of Array.isArray(allOf) ? allOf : []) {
      if (isPlainObjectSchema(part)) objects.push(withRequired(part, rest['required']));
      else parts.push(this.#type(part, context, indent, depth + 1));
    }
    for (const merged of mergeObjects(objects)) parts.push(this.#object(merged, context, indent, depth));
    if (Array.isArray(union))
      parts.push(joinUnion(union.map((branch) => this.#type(branch, context, indent, depth + 1))));
    const telling = [...new Set(parts)].filter((part) => part !== context.unknownType);
    if (telling.length > 0)
      return telling.length === 1 ? (telling[0] as string) : telling.map(parenthesised).join(' & ');
    return schema['type'] === undefined ? context.unknownType : this.#unreferenced(rest, context, indent, depth);
  }

  #array(schema: JsonObject, context: SchemaContext, indent: string, depth: number): string {
    return this.#inside(context, () => this.#arrayParts(schema, context, indent, depth));
  }

  #arrayParts(schema: JsonObject, context: SchemaContext, indent: string, depth: number): string {
    const prefix = schema['prefixItems'] ?? (Array.isArray(schema['items']) ? schema['items'] : undefined);
    const rest = Array.isArray(schema['items']) ? schema['additionalItems'] : schema['items'];
    if (!Array.isArray(prefix) || prefix.length === 0)
      return `${parenthesised(this.#type(rest ?? true, context, indent, depth + 1))}[]`;
    const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0;
    const members = prefix.map((item, index) => {
      const type = this.#type(item, context, indent, depth + 1);
      return index < least ? type : `${parenthesised(type)}?`;
    });
    if (rest !== undefined && rest !== false) {
      const type = this.#type(rest, context, indent, depth + 1);
      // TypeScript resolves a spread at once, so the spread may not contain the type that is being written.
      members.push(`...${this.#refersToNamed(type) ? context.unknownType : parenthesised(type)}[]`);
    }
    return `[${members.join(', ')}]`;
  }

  #object(schema: JsonObject, context: SchemaContext, indent: string, depth: number): string {
    return this.#inside(context, () => this.#objectParts(schema, context, indent, depth));
  }

  /** Writes the content of an array or object, which may refer to any type, including the type being written. */
  #inside(context: SchemaContext, write: () => string): string {
    const outer = context.bare;
    context.bare = new Set();
    const type = write();
    context.bare = outer;
    return type;
  }

  #objectParts(schema: JsonObject, context: SchemaContext, indent: string, depth: number): string {
    const properties = isRecord(schema['properties']) ? schema['properties'] : {};
    const required = new Set(requiredKeys(schema));
    const keys = [...new Set([...Object.keys(properties), ...required])].filter((key) => key.length <= MAX_TEXT);
    if (keys.length === 0) return this.#record(schema, context, indent, depth);
    if (depth >= this.#style.maxDepth) return 'object';
    const inner = `${indent}  `;
    const described = (key: string): unknown => (Object.hasOwn(properties, key) ? properties[key] : true);
    const shown = keys.filter((key) => !this.#isLeftOut(described(key), required.has(key), context));
    const members = shown.map((key) => {
      const name = `${propertyName(key)}${required.has(key) ? '' : '?'}`;
      return this.#member(name, described(key), context, inner, depth);
    });
    if (isOpen(schema)) members.push({ type: `[key: string]: ${context.unknownType};`, doc: '' });
    const line = members.map(({ type }) => type).join(' ');
    const isOneLine = members.every(({ doc }) => doc === '') && !line.includes('\n') && line.length <= MAX_LINE;
    if (members.length === 0) return '{}';
    if (this.#style.oneLine || isOneLine) return `{ ${line.replace(/;$/, '')} }`;
    return `{\n${members.map((member) => `${inner}${withDoc(member)}`).join('\n')}\n${indent}}`;
  }

  /** Whether a deprecated member is omitted. A required argument is always shown. */
  #isLeftOut(schema: unknown, required: boolean, { unknownType }: SchemaContext): boolean {
    if (this.#style.deprecated || !isRecord(schema) || schema['deprecated'] !== true) return false;
    return !required || unknownType === 'any';
  }

  #record(schema: JsonObject, context: SchemaContext, indent: string, depth: number): string {
    const others = schema['additionalProperties'];
    const patterns = isRecord(schema['patternProperties']) ? Object.values(schema['patternProperties']) : [];
    const isClosed = others === false || (others === undefined && isRecord(schema['properties']));
    if (isClosed && patterns.length === 0) return 'Record<string, never>';
    const values = others === false ? patterns : [...patterns, others ?? true];
    const type = joinUnion(values.map((value) => this.#type(value, context, indent, depth + 1)));
    // `Record` may not contain the type that is being written; an index signature may.
    return this.#refersToNamed(type) ? `{ [key: string]: ${type} }` : `Record<string, ${type}>`;
  }

  #refersToNamed(type: string): boolean {
    return [...this.#usedNames].some((name) => type.includes(name));
  }

  #member(name: string, schema: unknown, context: SchemaContext, indent: string, depth: number): Member {
    const doc = this.#style.memberDocs && isRecord(schema) ? memberDoc(schema) : '';
    const type = `${name}: ${this.#type(schema, context, indent, depth + 1)};`;
    return { type, doc };
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
  if (doc === '') return type;
  const end = type.indexOf('\n');
  return end === -1 ? `${type} // ${doc}` : `${type.slice(0, end)} // ${doc}${type.slice(end)}`;
}

interface SchemaContext {
  readonly root: JsonObject;
  readonly counts: ReadonlyMap<object, number>;
  readonly unknownType: 'any' | 'unknown';
  nodes: number;
  /** The schemas that are being written, except those outside of the innermost array or object. */
  bare: ReadonlySet<object>;
}

/** Counts the references to each schema. Every reachable reference counts once. */
function countReferences(root: JsonObject): Map<object, number> {
  const counts = new Map<object, number>();
  const visited = new Set<object>();
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null || visited.has(node)) continue;
    visited.add(node);
    const reference = (node as Record<string, unknown>)['$ref'];
    const target = isLocalReference(reference) ? resolveReference(root, reference) : undefined;
    if (isRecord(target)) counts.set(target, (counts.get(target) ?? 0) + 1);
    waiting.push(...Object.values(node));
  }
  return counts;
}

/**
 * Whether an object may have members that the schema does not name. A schema with `properties` that does not specify
 * this counts as closed.
 */
function isOpen(schema: JsonObject): boolean {
  const others = schema['additionalProperties'];
  if (others !== undefined && others !== false) return true;
  if (isRecord(schema['patternProperties']) && Object.keys(schema['patternProperties']).length > 0) return true;
  if (!isRecord(schema['properties'])) return others !== false;
  return Object.keys(schema['properties']).some((key) => key.length > MAX_TEXT);
}

/** Returns the required names; empty if the schema does not list names. */
export function requiredKeys(schema: JsonObject): string[] {
  const required = schema['required'];
  return Array.isArray(required) ? required.filter((key) => typeof key === 'string') : [];
}

/** Returns a part of an `allOf`, in which the names in `required` are required too if the part has such members. */
function withRequired(part: JsonObject, required: unknown): JsonObject {
  if (!Array.isArray(required)) return part;
  const own = required.filter((key) => typeof key === 'string' && Object.hasOwn(part['properties'] as object, key));
  return { ...part, required: [...requiredKeys(part), ...own] } as JsonObject;
}

/** Whether a schema is `{ not: {} }`, as some libraries mark a forbidden member. */
function isNothing(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  const { not } = schema;
  return not === true || (isRecord(not) && Object.keys(not).length === 0);
}

export function isPlainObjectSchema(schema: unknown): schema is JsonObject {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return false;
  return ['$ref', 'anyOf', 'oneOf', 'allOf', 'nullable'].every((keyword) => schema[keyword] === undefined);
}

/** Joins the schemas into one object if no two of them describe the same key. Otherwise returns them unchanged. */
function mergeObjects(objects: readonly JsonObject[]): readonly JsonObject[] {
  const keys = objects.flatMap((object) => Object.keys(object['properties'] as object));
  if (objects.length < 2 || new Set(keys).size < keys.length) return objects;
  const properties = objects.reduce<Record<string, unknown>>(
    (all, object) => defineAll(all, object['properties'] as object),
    {},
  );
  const required = objects.flatMap(requiredKeys);
  const open = objects.some(isOpen);
  return [{ type: 'object', properties, required, additionalProperties: open } as unknown as JsonObject];
}

function defineAll(target: Record<string, unknown>, source: object): Record<string, unknown> {
  return Object.defineProperties(target, Object.getOwnPropertyDescriptors(source));
}

function literal(value: unknown, context: SchemaContext): string {
  if (value === null) return 'null';
  if (typeof value === 'string' && value.length > MAX_TEXT) return 'string';
  return typeof value === 'object' ? context.unknownType : safeJson(value);
}

function kindOf(value: unknown, context: SchemaContext): string {
  return value === null || typeof value === 'object' ? literal(value, context) : typeof value;
}

export function joinUnion(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== 'never');
  if (different.length === 0) return 'never';
  const top = different.find((type) => type === 'any' || type === 'unknown');
  return top ?? different.join(' | ');
}

/** Adds parentheses around a type that contains `|` or `&` at its top level. */
export function parenthesised(type: string): string {
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

function memberDoc(schema: Record<string, unknown>): string {
  const parts: string[] = [];
  if (typeof schema['description'] === 'string') parts.push(docText(schema['description'], MAX_MEMBER_DOC));
  if (isInformative(schema['default'])) parts.push(`default ${docText(safeJson(schema['default']), 80)}`);
  if (typeof schema['format'] === 'string') parts.push(`format ${docText(schema['format'], 40)}`);
  return parts.filter((part) => part !== '').join('; ');
}

/**
 * Whether a default is worth a comment. Readers expect false, 0 or an empty value for an omitted member, so these
 * defaults need no comment.
 */
function isInformative(value: unknown): boolean {
  return (
    value !== undefined &&
    value !== false &&
    value !== 0 &&
    value !== '' &&
    !(Array.isArray(value) && value.length === 0)
  );
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
