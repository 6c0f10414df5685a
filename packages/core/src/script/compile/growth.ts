import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { walk, type Node, type NodeOf } from '../syntax/syntax.js';

/**
 * The characters that removing types could add to the source. The transpiler computes constant texts of enum members,
 * and writes the name of an enum or a namespace before each use of its members. A few hundred characters of `b = a +
 * a, c = b + b` would produce gigabytes.
 */
export interface Growth {
  readonly length: number;
  /** The offset of the enum member, or of the name of the enum or namespace, that exceeds the maximum. */
  readonly offset: number;
}

/**
 * Finds an enum or namespace with which the transpiler's output could exceed `max` characters. The estimate is an upper
 * bound, computed in linear time.
 */
export function findGrowth(index: SyntaxIndex, max: number): Growth | undefined {
  return findLongNames(index, max) ?? findFolding(index, max);
}

function findLongNames({ enums, namespaces, identifierCount }: SyntaxIndex, max: number): Growth | undefined {
  for (const { id } of [...enums, ...namespaces]) {
    const length = identifierCount * (id.end - id.start);
    if (length > max) return { length, offset: id.start };
  }
  return undefined;
}

/**
 * Adds up the texts that the transpiler computes for enum members, in source order. If several members have the same
 * name, the longest text counts.
 */
function findFolding({ enums }: SyntaxIndex, max: number): Growth | undefined {
  const texts = new Map<string, number>();
  let length = 0;
  for (const { body } of enums) {
    for (const member of body.members) {
      const { additions, text } = foldedSize(member.initializer, texts);
      length += (additions + 1) * text;
      if (length > max) return { length, offset: member.start };
      const name = memberText(member);
      texts.set(name, Math.max(texts.get(name) ?? 0, text));
    }
  }
  return undefined;
}

/** Maximum length of a number's text, with a margin. */
const NUMBER_LENGTH = 32;

/**
 * Returns the size of the text that an initializer becomes if all of its parts are concatenated. `additions`: the
 * number of concatenations, each of which creates an intermediate text.
 */
function foldedSize(initializer: Node | null, texts: ReadonlyMap<string, number>): { additions: number; text: number } {
  if (initializer === null) return { additions: 0, text: NUMBER_LENGTH };
  let additions = 0;
  let isArithmetic = false;
  let text = 0;
  walk(initializer, ({ node }) => {
    switch (node.type) {
      case 'Identifier':
        text += NUMBER_LENGTH + (texts.get(node.name) ?? 0);
        break;
      case 'Literal':
        text += Math.max(NUMBER_LENGTH, node.end - node.start) + (texts.get(String(node.value)) ?? 0);
        break;
      case 'TemplateElement':
        text += node.end - node.start + (texts.get(node.value.cooked ?? '') ?? 0);
        break;
      case 'BinaryExpression':
        if (node.operator === '+') additions++;
        else isArithmetic = true;
        break;
      case 'TemplateLiteral':
        additions++;
        break;
      default:
    }
  });
  return { additions, text: isArithmetic && additions === 0 ? NUMBER_LENGTH : text };
}

function memberText({ id }: NodeOf<'TSEnumMember'>): string {
  if (id.type === 'Identifier') return id.name;
  return id.type === 'Literal' ? id.value : (id.quasis[0]?.value.cooked ?? '');
}
