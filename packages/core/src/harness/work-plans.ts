import { PlanItemSchema, type Operation, type PlanItem } from '../protocol/index.js';
import type { ToolRegistry } from '../tools/index.js';
import { newId, type EventStream } from './event-stream.js';

/** The plan of the work in one run: one item, which every later call of such a tool changes. */
export class WorkPlans {
  readonly #items = new WeakMap<EventStream, string>();

  /** Tells of the plan that an operation brought, where its tool is one whose results are plans. */
  note(stream: EventStream, registry: ToolRegistry, operation: Operation): void {
    if (operation.status !== 'completed' || registry.get(operation.tool)?.shows !== 'plan') return;
    const known = this.#items.get(stream);
    const item = planItem(known ?? newId('item'), operation);
    if (item === undefined) return;
    if (known !== undefined) {
      const { type: _type, id: _id, ...changes } = item;
      stream.emit({ type: 'item_update', item_id: known, changes });
      return;
    }
    this.#items.set(stream, item.id);
    stream.emit({ type: 'item_start', item_id: item.id, item_type: 'plan' });
    stream.emit({ type: 'item_done', item_id: item.id, final_item: item });
  }
}

/** Undefined where the result is no plan. */
function planItem(id: string, { callId, result }: Operation): PlanItem | undefined {
  const { plan, explanation } = (result ?? {}) as { plan?: unknown; explanation?: unknown };
  const item = { type: 'plan', id, call_id: callId, steps: plan, explanation: explanation ?? '' };
  return PlanItemSchema.safeParse(item).data;
}
