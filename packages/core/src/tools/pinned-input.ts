import { deepFreeze, type JsonValue } from '../protocol/json.js';
import type { CallRecord } from './call-record.js';
import type { FacadeOptions } from './facade-types.js';

/**
 * Replaces the input by one that names exact versions of what it refers to, so that the decision and the call are about
 * the same. Rejects with the error of the tool.
 */
export async function pinInput({ app, principal, identity }: FacadeOptions, record: CallRecord): Promise<void> {
  const { tool } = record;
  const pinned: unknown = await tool.pin?.(record.input as never, { app, principal, threadId: identity?.threadId });
  const checked = tool.validateInput(pinned);
  if (!checked.ok) throw new TypeError(`${tool.name} pinned its arguments to invalid ones`);
  record.inputJson = JSON.stringify(checked.value);
  record.input = deepFreeze(JSON.parse(record.inputJson) as JsonValue);
}
