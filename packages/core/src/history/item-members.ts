import type { OutputItem, OutputItemType } from '../protocol/index.js';
import { ITEM_SHAPES } from './item-shapes.js';
import { fitsShape } from './json-shape.js';

/** The member that `item_delta` appends to; undefined for items without streamed text. */
export function textMember(type: OutputItemType): 'content' | 'arguments' | 'source_code' | undefined {
  switch (type) {
    case 'message':
    case 'reasoning':
      return 'content';
    case 'function_call':
      return 'arguments';
    case 'script_execution':
    case 'hosted_code':
      return 'source_code';
    default:
      return undefined;
  }
}

/**
 * The placeholder of an item that has only started. Undefined for results and errors, because these have no content
 * before their `item_done`.
 */
export function placeholderItem(
  type: OutputItemType,
  id: string,
  initial: Readonly<Record<string, unknown>> = {},
): OutputItem | undefined {
  const empty = emptyItem(type, id);
  return empty && withMembers(empty, initial);
}

/**
 * A copy of the item with the changes applied. Changes of `type` or `id` and changes that violate a member's schema
 * are skipped; members that the protocol does not know are applied unchanged.
 */
export function withMembers<Item extends OutputItem>(item: Item, changes: Readonly<Record<string, unknown>>): Item {
  const merged: Item = { ...item };
  for (const [member, value] of Object.entries(changes)) {
    if (!fits(item.type, member, value)) continue;
    // An assignment to `__proto__` would change the prototype instead of the data.
    Object.defineProperty(merged, member, { value, enumerable: true, writable: true, configurable: true });
  }
  return merged;
}

function fits(type: OutputItemType, member: string, value: unknown): boolean {
  if (member === 'type' || member === 'id') return false;
  const members = ITEM_SHAPES[type];
  return Object.hasOwn(members, member) ? fitsShape(members[member]!, value) : true;
}

function emptyItem(type: OutputItemType, id: string): OutputItem | undefined {
  switch (type) {
    case 'message':
      return { type, id, role: 'assistant', content: '' };
    case 'reasoning':
      return { type, id, content: '' };
    case 'function_call':
      return { type, id, call_id: '', name: '', arguments: '' };
    case 'script_execution':
      return {
        type,
        id,
        call_id: '',
        language: 'ts',
        format: 'xml',
        source_code: '',
        source_sha256: '',
        status: 'pending',
      };
    case 'hosted_code':
      return { type, id, call_id: '', language: 'python', source_code: '' };
    default:
      return undefined;
  }
}
