import type { Library, MergedInterface, Value } from './library.js';
import type { GuestSurface } from './surface.js';

/** Types of constructs that are rejected before a script runs: modules and decorators. */
const REFUSED_TYPES = [
  'ClassDecorator',
  'ImportAssertions',
  'ImportAttributes',
  'ImportCallOptions',
  'ImportMeta',
  'MethodDecorator',
  'ParameterDecorator',
  'PropertyDecorator',
];

/** Constructors that create functions from text. The guest rejects calls of these constructors. */
const MAKE_CODE = ['AsyncGeneratorFunctionConstructor', 'FunctionConstructor', 'GeneratorFunctionConstructor'];

/** Members that exist but throw when they are read in strict mode. */
const THROW_WHEN_READ: Readonly<Record<string, readonly string[]>> = {
  Function: ['arguments', 'caller'],
  IArguments: ['callee'],
};

/**
 * Removes from `library` everything that the guest lacks: globals, their types, members, and declarations that refer
 * to a removed type. Pure types (`Partial`, `PromiseLike`) stay.
 */
export function retainGuestSurface(library: Library, surface: GuestSurface): void {
  const absent = absentTypes(library, surface);
  const described = describedMembers(library, surface);
  keepPresentValues(library, surface);
  for (const name of absent) library.interfaces.delete(name);
  for (const [name, members] of described) keepMembers(library.interfaces.get(name), members);
  for (const [name, members] of Object.entries(THROW_WHEN_READ)) {
    const found = library.interfaces.get(name);
    if (found !== undefined) found.members = found.members.filter((member) => !members.includes(member.name ?? ''));
  }
  for (const name of MAKE_CODE) {
    const found = library.interfaces.get(name);
    if (found !== undefined) found.members = found.members.filter((member) => member.name !== undefined);
  }
  dropMentions(library, absent);
}

/**
 * The names of absent types. With an absent global, the interfaces of its values and of its constructor are absent too.
 */
function absentTypes(library: Library, { globals }: GuestSurface): Set<string> {
  const absent = new Set(REFUSED_TYPES);
  for (const { name, typeName } of library.values) {
    if (globals.includes(name)) continue;
    absent.add(name);
    if (typeName !== undefined) absent.add(typeName);
  }
  for (const name of library.namespaces.keys()) if (!globals.includes(name)) absent.add(name);
  return absent;
}

/** The interfaces that describe a value of the guest, each with the members of this value. */
function describedMembers(library: Library, { members }: GuestSurface): Map<string, readonly string[]> {
  const described = new Map<string, readonly string[]>();
  for (const { name, typeName } of library.values) {
    if (typeName === undefined || members[name] === undefined) continue;
    described.set(typeName, members[name]);
    const prototypeType = prototypeTypeName(library.interfaces.get(typeName));
    const prototype = members[`${name}.prototype`];
    if (prototypeType !== undefined && prototype !== undefined) described.set(prototypeType, prototype);
  }
  for (const [key, found] of Object.entries(members)) {
    if (key.endsWith('.specimen')) described.set(key.slice(0, -'.specimen'.length), found);
  }
  return described;
}

function prototypeTypeName(constructor: MergedInterface | undefined): string | undefined {
  return constructor?.members.find(({ name }) => name === 'prototype')?.typeName;
}

function keepPresentValues(library: Library, { globals, members }: GuestSurface): void {
  keepValues(library.values, globals);
  for (const [name, namespace] of library.namespaces) {
    if (globals.includes(name)) keepValues(namespace.values, members[name] ?? []);
    else library.namespaces.delete(name);
  }
}

function keepValues(values: Value[], present: readonly string[]): void {
  values.splice(0, values.length, ...values.filter(({ name }) => present.includes(name)));
}

function keepMembers(found: MergedInterface | undefined, present: readonly string[]): void {
  if (found !== undefined) {
    found.members = found.members.filter(({ name }) => name === undefined || present.includes(name));
  }
}

/**
 * Removes declarations that refer to an absent type. An alias that refers to such a type becomes absent itself, so this
 * function repeats until nothing changes.
 */
function dropMentions(library: Library, absent: Set<string>): void {
  for (let before = -1; before !== absent.size;) {
    before = absent.size;
    const mentions = new RegExp(`(?<![\\w.])(?:${[...absent].join('|')})(?![\\w?:])`, 'u');
    for (const [name, text] of library.aliases) {
      if (!absent.has(name) && !mentions.test(text)) continue;
      library.aliases.delete(name);
      absent.add(name);
    }
    for (const found of library.interfaces.values()) {
      found.bases = found.bases.filter((base) => !mentions.test(base));
      found.members = found.members.filter(({ text }) => !mentions.test(text));
    }
  }
}
