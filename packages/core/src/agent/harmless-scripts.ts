import type { EventPayload, OutputItem } from '../protocol/index.js';

/**
 * The running scripts of a run and of its sub-agents that have made no call with effects and were never suspended. If
 * all events of these scripts are stored, the scripts can start again.
 */
export class HarmlessScripts {
  /** The ids of the items of the run's own scripts, by script id. */
  readonly #items = new Map<string, string>();
  readonly #subAgents = new Map<string, { readonly scripts: HarmlessScripts; nextSeq: number }>();

  take(payload: EventPayload): void {
    switch (payload.type) {
      case 'item_done':
        return this.#noteScript(payload.final_item);
      case 'item_update':
        for (const [scriptId, itemId] of this.#items) if (itemId === payload.item_id) this.#items.delete(scriptId);
        return;
      case 'tool_call_start':
        // defence: only-harmless-scripts-start-anew
        if (payload.effect !== 'read') this.#items.delete(payload.script_id ?? '');
        return;
      case 'agent_event':
        return this.#takeOfSubAgent(payload);
      default:
        return;
    }
  }

  /** The events that make the run's own scripts pending. */
  get restarts(): EventPayload[] {
    return [...this.#items.values()].map((item_id) => ({
      type: 'item_update',
      item_id,
      changes: { status: 'pending' },
    }));
  }

  /** The events that make all of these scripts pending, including the scripts of sub-agents. */
  get allRestarts(): EventPayload[] {
    const ofSubAgents = [...this.#subAgents].flatMap(([agent_run_id, { scripts, nextSeq }]) =>
      scripts.allRestarts.map((event, index): EventPayload => {
        return { type: 'agent_event', agent_run_id, seq: nextSeq + index, timestamp: Date.now(), event };
      }),
    );
    return [...this.restarts, ...ofSubAgents];
  }

  #takeOfSubAgent({ agent_run_id: id, seq, event }: Extract<EventPayload, { type: 'agent_event' }>): void {
    const known = this.#subAgents.get(id) ?? { scripts: new HarmlessScripts(), nextSeq: 0 };
    known.scripts.take(event as EventPayload);
    known.nextSeq = seq + 1;
    this.#subAgents.set(id, known);
  }

  #noteScript(item: OutputItem): void {
    if (item.type === 'script_execution' && item.status === 'executing' && item.script_id !== undefined)
      this.#items.set(item.script_id, item.id);
    if (item.type === 'script_execution_output' && item.script_id !== undefined) this.#items.delete(item.script_id);
  }
}
