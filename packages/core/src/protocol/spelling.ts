import { z } from 'zod';

/*
 * The library and the routes of a server spell members in camelCase, items and events in snake_case. This is the only
 * place that converts one spelling to the other. It renames the members of one object and not those of its values,
 * which may be data of scripts and tools.
 */

type SnakeName<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeName<Rest>}`
  : Name;

type CamelName<Name> = Name extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<CamelName<Rest>>}` : Name;

/** The members in snake_case, as items and events have them. */
export type SnakeCase<Members> = { [Name in keyof Members as SnakeName<Name>]: Members[Name] };

/** The members in camelCase, as the library and routes have them. */
export type CamelCase<Members> = { [Name in keyof Members as CamelName<Name>]: Members[Name] };

/** A copy with its members in snake_case, without undefined members. */
export function toSnakeCase<Members extends object>(members: Members): SnakeCase<Members> {
  return renameMembers(members, SNAKE_NAMES, (name) =>
    name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`),
  ) as SnakeCase<Members>;
}

/** A copy with its members in camelCase, without undefined members. */
export function toCamelCase<Members extends object>(members: Members): CamelCase<Members> {
  return renameMembers(members, CAMEL_NAMES, (name) =>
    name.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase()),
  ) as CamelCase<Members>;
}

/** The names so far. Stored data may have any further members, so the maps are bounded. */
const SNAKE_NAMES = new Map<string, string>();
const CAMEL_NAMES = new Map<string, string>();
const MAX_NAMES = 1_000;

function renameMembers(members: object, names: Map<string, string>, rename: (name: string) => string): object {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(members)) {
    const value = (members as Record<string, unknown>)[name];
    // An assignment to `__proto__` would change the prototype.
    if (value === undefined || name === '__proto__') continue;
    const known = names.get(name);
    const other = known ?? rename(name);
    if (known === undefined && names.size < MAX_NAMES) names.set(name, other);
    copy[other] = value;
  }
  return copy;
}

/** The schema of the same object in snake_case. Further members are allowed. */
export function snakeCaseSchema<Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) {
  return z.looseObject(toSnakeCase(shape) as SnakeCase<Shape>);
}
