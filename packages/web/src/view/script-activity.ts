import type { StreamEvent } from '@toolscript/core/stream';
import { parsedText } from './parsed-text.ts';
import type { CallStatus, CallView, LogLine, Operation } from './types.ts';

type Payload = StreamEvent['payload'];
type PayloadOf<Type extends Payload['type']> = Extract<Payload, { type: Type }>;

/** The data about a script that is not in an item: its calls, pending approvals and console lines. */
export class ScriptActivity {
  readonly #calls = new Map<string, CallView>();
  readonly #logs: LogLine[] = [];
  /** The number of applied events. */
  version = 0;

  get calls(): readonly CallView[] {
    return [...this.#calls.values()];
  }

  get logs(): readonly LogLine[] {
    return [...this.#logs];
  }

  call(callId: string): CallView | undefined {
    return this.#calls.get(callId);
  }

  /** Applies an event. `at`: the time of the event, in ms since 1970. */
  apply(payload: Payload, at: number): void {
    this.version += 1;
    switch (payload.type) {
      case 'tool_call_start':
        return this.#start(payload, at);
      case 'tool_call_done':
        return this.#end(payload.operation, at);
      case 'approval_requested':
        return this.#wait(payload, at);
      case 'approval_resolved':
        return this.#resolve(payload, at);
      case 'script_log':
        return void this.#logs.push({ level: payload.level, text: payload.text, at, isProgress: false });
      case 'script_progress':
        return void this.#logs.push({
          level: payload.kind === 'warn' ? 'warn' : 'info',
          text: payload.message,
          at,
          isProgress: true,
        });
      default:
    }
  }

  #start({ call_id: callId, tool, effect, line, input }: PayloadOf<'tool_call_start'>, at: number): void {
    const known = this.#calls.get(callId);
    this.#calls.set(callId, {
      requestedAt: at,
      ...known,
      ...(line === undefined ? {} : { line }),
      callId,
      tool,
      effect,
      input,
      status: 'running',
      startedAt: at,
    });
  }

  #end(operation: Operation, at: number): void {
    const known = this.#calls.get(operation.call_id);
    const startedAt = known?.startedAt ?? Math.max(known?.requestedAt ?? 0, at - operation.duration_ms);
    this.#calls.set(operation.call_id, {
      ...operationCall(operation, startedAt),
      ...known,
      ...endedCall(operation, at),
    });
  }

  #wait({ approval }: PayloadOf<'approval_requested'>, at: number): void {
    const { call_id: callId, tool, effect, line, input } = approval;
    const known = this.#calls.get(callId);
    this.#calls.set(callId, {
      requestedAt: at,
      ...known,
      ...(line === undefined ? {} : { line }),
      callId,
      tool,
      effect,
      input,
      status: 'waiting',
      wait: { from: at },
    });
  }

  #resolve(payload: PayloadOf<'approval_resolved'>, at: number): void {
    const { call_id: callId, decision, by, note, edited_input_json: edited } = payload;
    const known = this.#calls.get(callId);
    if (known === undefined) return;
    const status: CallStatus = decision === 'approve' ? 'running' : 'denied';
    this.#calls.set(callId, {
      ...known,
      status,
      decision,
      decidedBy: by,
      ...(known.wait === undefined ? {} : { wait: { from: known.wait.from, to: at } }),
      ...(note === undefined ? {} : { note }),
      ...(edited === undefined ? {} : { askedInput: known.input, input: parsedText(edited) }),
      ...(status === 'denied' ? { endedAt: at } : {}),
    });
  }
}

/** A call that is known only from its operation. `startedAt`: in ms since 1970. */
export function operationCall(operation: Operation, startedAt: number): CallView {
  return {
    callId: operation.call_id,
    tool: operation.tool,
    effect: operation.effect,
    input: operation.input,
    status: operation.status,
    requestedAt: startedAt,
    startedAt,
    endedAt: startedAt + operation.duration_ms,
    operation,
    ...(operation.line === undefined ? {} : { line: operation.line }),
  };
}

function endedCall(operation: Operation, at: number): Partial<CallView> {
  return {
    status: operation.status,
    endedAt: at,
    operation,
    input: operation.input,
    ...(operation.line === undefined ? {} : { line: operation.line }),
  };
}
