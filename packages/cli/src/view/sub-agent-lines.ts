import type { EventPayload } from '@toolscript/core/protocol';
import type { Style } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { callLine, banner, summary } from './script-report.js';

type AgentPayload = Extract<EventPayload, { type: 'agent_start' | 'agent_event' }>;

const MAX_TEXT = 100;

const MARKS: Readonly<Record<string, string>> = { completed: '✔', suspended: '⏸' };

/**
 * Creates the lines of sub-agents, indented under the script that launched them. Each line names its agent, because
 * several agents may work at once.
 */
export class SubAgentLines {
  readonly #style: Style;
  /** The names of the agents, such as `reviewer 2`, by the ids of their runs. */
  readonly #names = new Map<string, string>();

  constructor(style: Style) {
    this.#style = style;
  }

  take(payload: EventPayload, indent = '  '): string[] {
    if (payload.type !== 'agent_start' && payload.type !== 'agent_event') return [];
    const name = this.#agentName(payload);
    const head = `${indent}${this.#style.dim('│')} ${this.#style.bold(name)}`;
    if (payload.type === 'agent_start') return [`${head} ${this.#style.dim(short(payload.task))}`];
    const event = payload.event as EventPayload;
    const nested = this.take(event, `${indent}  `);
    return nested.length > 0 ? nested : this.#eventLines(event).map((line) => `${head} ${line.trimStart()}`);
  }

  #agentName({ agent_run_id: id, ...payload }: AgentPayload): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const slug = payload.type === 'agent_start' ? visibleLine(payload.agent) : 'sub-agent';
    const name = `${slug} ${this.#names.size + 1}`;
    this.#names.set(id, name);
    return name;
  }

  #eventLines(event: EventPayload): string[] {
    switch (event.type) {
      case 'tool_call_done':
        return [callLine(event.operation, this.#style)];
      case 'item_done':
        if (event.final_item.type === 'script_execution') return [banner(event.final_item, this.#style)];
        if (event.final_item.type === 'script_execution_output') return [summary(event.final_item, this.#style)];
        if (event.final_item.type === 'message' && event.final_item.role === 'assistant')
          return [this.#style.dim(short(event.final_item.content))];
        return [];
      case 'response_error':
        return [visibleLine(`${event.code}: ${event.message}`)];
      case 'response_done':
        return [`${MARKS[event.status] ?? '✘'} ${event.status}`];
      default:
        return [];
    }
  }
}

function short(text: string): string {
  const line = visibleLine(text.trim().split('\n')[0] ?? '');
  return line.length <= MAX_TEXT ? line : `${line.slice(0, MAX_TEXT)}…`;
}
