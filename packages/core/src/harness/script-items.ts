import { outcomeToOutputItem, renderOutcomeForModel } from '../history/index.js';
import type {
  CompiledScript,
  HarnessMode,
  Outcome,
  ScriptExecutionItem,
  ScriptFormat,
  ScriptLanguage,
} from '../protocol/index.js';
import { sha256 } from '../text/sha256.js';
import { newId, type EventStream } from './event-stream.js';

/** A script as its item shows it. */
export interface ScriptText {
  source: string;
  language: ScriptLanguage;
  format: ScriptFormat;
  /** What whoever runs it wants its item to have. */
  item?: ScriptItemMembers | undefined;
  /** Its item was started under this name while the source was typed. */
  startedAs?: string | undefined;
}

/**
 * Members of a script's item, for a host whose conversation the item belongs to: names, the carrier, the text that
 * it was cut from. The script's output then has a `report` too. `isStarted` is no member: the host has told the
 * `item_start` of the item's `id` already.
 */
export type ScriptItemMembers = Partial<
  Pick<ScriptExecutionItem, 'id' | 'call_id' | 'format' | 'carrier' | 'raw_text'>
> & { readonly isStarted?: boolean } & Readonly<Record<string, unknown>>;

/** What later events name a script's item by. */
export interface ItemNames {
  id: string;
  callId: string;
  /** Its output has a report. */
  reported?: true;
}

/** What a report is made from, beside the outcome. */
export interface ReportSource {
  source: string;
  tokenBudget: number;
  mode?: HarnessMode;
}

export function executionItem(text: ScriptText, script: CompiledScript | undefined): ScriptExecutionItem {
  return {
    type: 'script_execution',
    id: text.startedAs ?? newId('item'),
    call_id: newId('call'),
    language: text.language,
    format: text.format,
    source_code: text.source,
    source_sha256: script?.sha256 ?? sha256(text.source),
    status: 'executing',
    ...(script === undefined ? {} : { plan: script.plan.map((call) => ({ ...call })) }),
    ...text.item,
  };
}

/** The whole script, at once; where it was told while it was typed, as the end of that. */
export function announce(
  stream: EventStream,
  item: ScriptExecutionItem,
  { item: members, startedAs }: Pick<ScriptText, 'item' | 'startedAs'> = {},
): ItemNames {
  if (startedAs === undefined) stream.emit({ type: 'item_start', item_id: item.id, item_type: 'script_execution' });
  stream.emit({ type: 'item_done', item_id: item.id, final_item: item });
  return { id: item.id, callId: item.call_id, ...(members === undefined ? {} : { reported: true }) };
}

/** The end of an item that started while its source was typed, and is none after all. */
export function cancelStarted(stream: EventStream, itemId: string, reason: string): void {
  stream.emit({ type: 'item_cancelled', item_id: itemId, reason });
}

/** A script's output, once: one that is put aside has none yet, and its item says so. */
export function announceOutcome(
  stream: EventStream,
  { id: itemId, callId, reported }: ItemNames,
  outcome: Outcome,
  from: ReportSource,
): void {
  if (outcome.status === 'suspended') return announceStatus(stream, itemId, 'suspended');
  const id = newId('item');
  stream.emit({ type: 'item_start', item_id: id, item_type: 'script_execution_output' });
  const report = reported === true ? { report: renderOutcomeForModel(outcome, from) } : {};
  const final = { ...outcomeToOutputItem(outcome, { id, callId }), ...report };
  stream.emit({ type: 'item_done', item_id: id, final_item: final });
}

export function announceStatus(stream: EventStream, itemId: string, status: 'suspended' | 'executing'): void {
  stream.emit({ type: 'item_update', item_id: itemId, changes: { status } });
}
