import type { Library, Member, MergedInterface } from './library.js';

/** The families of interfaces with equal declarations, each with the name of the shared interface. */
const FAMILIES: readonly { name: string; ofFamily: RegExp }[] = [
  { name: 'NumberArrayMembers', ofFamily: /^(?:Int|Uint|Float)\d+(?:Clamped)?Array$/u },
  { name: 'BigIntArrayMembers', ofFamily: /^Big(?:Int|Uint)64Array$/u },
];

/**
 * Moves the common members of each family of typed arrays to one interface that all interfaces of the family extend.
 * The interfaces of a family are near copies of each other, and would be half of the library. `Copy` means the array
 * with a separate buffer, `View` the array on the same buffer.
 */
export function foldTypedArrays(library: Library): void {
  for (const { name, ofFamily } of FAMILIES) {
    const family = [...library.interfaces.values()].filter((found) => ofFamily.test(found.name));
    if (family.length > 1) foldFamily(library, name, family);
  }
}

function foldFamily(library: Library, name: string, family: readonly MergedInterface[]): void {
  const written = family.map(membersByName);
  const common = [...written[0]!].filter(
    ([key, text]) => !text.includes(family[0]!.name) && written.every((members) => members.get(key) === text),
  );
  library.interfaces.set(name, {
    name,
    parameters: '<TArrayBuffer extends ArrayBufferLike,Copy,View>',
    bases: [],
    members: common.map(([, text]) => ({ name: undefined, text, typeName: undefined })),
  });
  const shared = new Set(common.map(([key]) => key));
  for (const found of family) {
    found.members = found.members.filter((member) => !shared.has(memberKey(member)));
    found.bases.push(`${name}<TArrayBuffer,${found.name}<ArrayBuffer>,${found.name}<TArrayBuffer>>`);
  }
}

/**
 * The overloads of each name as one text, because they can only move together. Placeholders replace the interface's own
 * names.
 */
function membersByName({ name, members }: MergedInterface): Map<string, string> {
  const byName = new Map<string, string>();
  for (const member of members) {
    const text = member.text.replaceAll(`${name}<ArrayBuffer>`, 'Copy').replaceAll(`${name}<TArrayBuffer>`, 'View');
    const before = byName.get(memberKey(member));
    byName.set(memberKey(member), before === undefined ? text : `${before};${text}`);
  }
  return byName;
}

function memberKey({ name, text }: Member): string {
  return name ?? text;
}
