import { foldResponse } from '@toolscript/core/history';
import type { StreamEvent } from '@toolscript/core/protocol';

/** The ends of the calls with effects of a run, by tag, from the last event of each. */
export function operationsIn(events: readonly StreamEvent[]): Map<string, string> {
  const statuses = new Map<string, string>();
  const note = ({ input, status, effect }: { input?: unknown; status: string; effect: string }) => {
    const { tag } = input as { tag: string };
    if (effect !== 'read') statuses.set(tag, status);
  };
  for (const { payload } of events)
    if (payload.type === 'tool_call_done') note(payload.operation as Parameters<typeof note>[0]);
  const items = foldResponse(events).output_items;
  for (const item of items) {
    if (item.type === 'script_execution_output')
      for (const operation of item.operations) note(operation as Parameters<typeof note>[0]);
    if (item.type !== 'function_call_output') continue;
    const call = items.find((other) => other.type === 'function_call' && other.call_id === item.call_id);
    const input = JSON.parse((call as { arguments: string }).arguments) as { tag?: string };
    if (input.tag !== undefined) note({ input, status: statusIn(item), effect: 'write' });
  }
  return statuses;
}

/** The model's text about a structured call. */
function statusIn({ success, output }: { success?: boolean | undefined; output: string }): string {
  if (success === true) return 'completed';
  return /is not known|may have taken effect/u.test(output) ? 'unknown' : 'failed';
}
