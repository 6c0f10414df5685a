// What changed between two versions of the declarations of an SDK: the members of unions and enums, the members of
// interfaces, and the sentences of comments that name a limit.
import { parseSync } from 'oxc-parser';

/** A sentence about a limit. */
const LIMIT = /[^.\n]*\b(?:at most|maximum|minimum|up to|between|less than|must be)\b[^.\n]*\d[^.\n]*/giu;

/**
 * The lines that one text has and the other does not, each as `+ PLACE: FACT` or `- PLACE: FACT`.
 *
 * @param {string} before declarations in TypeScript
 * @param {string} after declarations in TypeScript
 */
export function sdkDifferences(before, after) {
  const [old, now] = [factsIn(before), factsIn(after)];
  const removed = [...old].filter((fact) => !now.has(fact)).map((fact) => `- ${fact}`);
  const added = [...now].filter((fact) => !old.has(fact)).map((fact) => `+ ${fact}`);
  return [...removed, ...added].toSorted((one, other) => (one.slice(2) < other.slice(2) ? -1 : 1));
}

function factsIn(text) {
  const { program } = parseSync('declarations.d.ts', text);
  const facts = new Set();
  visit(program, '', (place, fact) => facts.add(`${place}: ${fact}`), text);
  const unwrapped = text.replaceAll(/\n *\* */gu, ' ');
  for (const [sentence] of unwrapped.matchAll(LIMIT))
    facts.add(`limit: ${sentence.replaceAll(/[\s*/]+/gu, ' ').trim()}`);
  return facts;
}

/** Visits a node of the syntax tree. `place`: the names of the declarations around it. */
function visit(node, place, note, text) {
  if (Array.isArray(node)) for (const one of node) visit(one, place, note, text);
  if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return;
  const here = placeOf(node, place);
  if (node.type === 'TSUnionType')
    for (const member of node.types) note(here, text.slice(member.start, member.end).replaceAll(/\s+/gu, ' '));
  if (node.type === 'TSPropertySignature') note(place, nameOf(node.key));
  for (const [name, value] of Object.entries(node)) if (name !== 'key' && name !== 'id') visit(value, here, note, text);
}

function placeOf(node, place) {
  const name = nameOf(node.id ?? (node.type === 'TSPropertySignature' ? node.key : undefined));
  return name === '' ? place : place === '' ? name : `${place}.${name}`;
}

function nameOf(identifier) {
  return String(identifier?.name ?? identifier?.value ?? '');
}
