import { outcomeToOutputItem, renderOutcomeForModel } from '../history/index.js';
import type {
  CompiledScript,
  HarnessMode,
  Outcome,
  ScriptExecutionItem,
  ScriptFormat,
  ScriptItemMembers,
  ScriptLanguage,
} from '../protocol/index.js';
import { sha256 } from '../text/sha256.js';
import type { PayloadSink } from '../answer/index.js';
import type { ItemNames } from '../durability/suspensions.js';
import { newId } from '../text/new-id.js';
import { present } from '../protocol/present.js';

/** A script as its item shows it. */
export interface ScriptText {
  source: string;
  language: ScriptLanguage;
  format: ScriptFormat;
  /** Members that the host adds to the item. */
  item?: ScriptItemMembers | undefined;
}

/** The inputs of a report besides the outcome. */
export interface ReportSource {
  source: string;
  tokenBudget: number;
  mode?: HarnessMode;
}

export function executionItem(
  text: ScriptText,
  script: CompiledScript | undefined,
  scriptId?: string,
): ScriptExecutionItem {
  const { stage: _stage, ...members } = text.item ?? {};
  return {
    type: 'script_execution',
    id: newId('item'),
    call_id: newId('call'),
    language: text.language,
    format: text.format,
    source_code: text.source,
    source_sha256: script?.sha256 ?? sha256(text.source),
    ...members,
    status: 'executing',
    ...(scriptId === undefined ? {} : { script_id: scriptId }),
    ...(script === undefined ? {} : { plan: script.plan.map((call) => ({ ...call })) }),
  };
}

/** Emits the whole item at once, or the part that the host has not emitted. */
export function announce(sink: PayloadSink, item: ScriptExecutionItem, members?: ScriptItemMembers): ItemNames {
  const { id, status, plan, script_id, source_sha256, call_id: callId } = item;
  const stage = members?.stage;
  if (stage === undefined) sink.emit({ type: 'item_start', item_id: id, item_type: 'script_execution' });
  if (stage === 'pending')
    sink.emit({
      type: 'item_update',
      item_id: id,
      changes: { ...present({ status, plan, script_id }), source_sha256 },
    });
  else sink.emit({ type: 'item_done', item_id: id, final_item: item });
  return { id, callId, ...(members === undefined ? {} : { reported: true }) };
}

/** Ends an item that the host has started if no script follows. */
export function cancelStarted(sink: PayloadSink, members: ScriptItemMembers | undefined, reason: string): void {
  if (members?.stage === 'started' && members.id !== undefined)
    sink.emit({ type: 'item_cancelled', item_id: members.id, reason });
}

/** Emits a script's output once. A suspended script has no output yet; its item gets the status `suspended`. */
export function announceOutcome(
  sink: PayloadSink,
  { id: itemId, callId, reported }: ItemNames,
  outcome: Outcome,
  from: ReportSource,
): void {
  if (outcome.status === 'suspended') return announceStatus(sink, itemId, 'suspended');
  const id = newId('item');
  sink.emit({ type: 'item_start', item_id: id, item_type: 'script_execution_output' });
  const report = reported === true ? { report: renderOutcomeForModel(outcome, from) } : {};
  const final = { ...outcomeToOutputItem(outcome, { id, callId }), ...report };
  sink.emit({ type: 'item_done', item_id: id, final_item: final });
}

export function announceStatus(sink: PayloadSink, itemId: string, status: 'suspended' | 'executing'): void {
  sink.emit({ type: 'item_update', item_id: itemId, changes: { status } });
}
