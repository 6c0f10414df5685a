import { PlanItemSchema, type Operation, type PlanItem } from '../protocol/index.js';
import type { ToolRegistry } from '../tools/index.js';
import type { PayloadSink } from '../answer/index.js';
import { newId } from '../text/new-id.js';

/** Emits the plan of an operation whose tool shows plans. All plans of a run form one item in its log. */
export function emitWorkPlan(sink: PayloadSink, registry: ToolRegistry, operation: Operation): void {
  if (operation.status !== 'completed' || registry.get(operation.tool)?.shows !== 'plan') return;
  const item = planItem(newId('item'), operation);
  if (item === undefined) return;
  sink.emit({ type: 'item_start', item_id: item.id, item_type: 'plan' });
  sink.emit({ type: 'item_done', item_id: item.id, final_item: item });
}

/** Undefined if the result is not a plan. */
function planItem(id: string, { callId, result }: Operation): PlanItem | undefined {
  const { plan, explanation } = (result ?? {}) as { plan?: unknown; explanation?: unknown };
  const item = { type: 'plan', id, call_id: callId, steps: plan, explanation: explanation ?? '' };
  return PlanItemSchema.safeParse(item).data;
}
