import { createHash } from 'node:crypto';
import { identifierName } from '@toolscript/core/internal';

/** The characters of names that `defineTool` accepts. */
const USABLE = /^[A-Za-z0-9_$-]{1,64}$/u;
const RESERVED: ReadonlySet<string> = new Set(['then', '__proto__', 'constructor', 'prototype']);
const MAX_BASE_LENGTH = 40;

/**
 * The part of `tools.mcp.SERVER.TOOL` for each name of a set. No two names share a form in which a script may write
 * them: in a conflict, all except an existing identifier get a suffix derived from their own name, so that a name
 * does not depend on the order of the list.
 */
export function scriptNames(names: readonly string[]): ReadonlyMap<string, string> {
  const sorted = [...new Set(names)].toSorted();
  const sharing = new Map<string, number>();
  for (const name of sorted) sharing.set(identifierForm(name), (sharing.get(identifierForm(name)) ?? 0) + 1);
  const keepsForm = (name: string) => name === identifierForm(name) || sharing.get(identifierForm(name)) === 1;
  const used = new Set(sorted.filter(keepsForm).map(identifierForm));
  const entries = sorted.map((name): [string, string] => [
    name,
    keepsForm(name) ? scriptNamePart(name) : freePart(name, used),
  ]);
  return new Map(entries);
}

/** The name itself if scripts can use it, otherwise a similar one. */
function scriptNamePart(name: string): string {
  if (USABLE.test(name)) return RESERVED.has(name) ? suffixedName(name) : name;
  const base = nameBase(name);
  return base.length === name.length && !RESERVED.has(base) ? base : suffixedName(name);
}

/** A part that no other name has. A server may choose a name that equals the suffixed form of another name. */
function freePart(name: string, used: Set<string>): string {
  let part = suffixedName(name);
  // defence: mcp-suffixes-can-be-forged
  for (let count = 2; used.has(identifierName(part)); count++) part = `${suffixedName(name)}_${count}`;
  used.add(identifierName(part));
  return part;
}

function identifierForm(name: string): string {
  return identifierName(scriptNamePart(name));
}

function suffixedName(name: string): string {
  return `${nameBase(name)}_${createHash('sha256').update(name).digest('hex').slice(0, 6)}`;
}

function nameBase(name: string): string {
  const base = name
    .normalize('NFKC')
    .replaceAll(/[^A-Za-z0-9_$-]+/gu, '_')
    .slice(0, MAX_BASE_LENGTH);
  return base === '' || base === '_' ? 'tool' : base;
}
