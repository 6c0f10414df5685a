import { MAX_USER_TEXTS, userText } from '../history/script-origin.js';
import type { MessageItem, OutputItem, ScriptExecutionOutputItem } from '../protocol/index.js';
import { isCompaction } from './compaction.js';
import { MAX_READ } from './read-texts.js';

/*
 * The part of a conversation that later runs need. A stored conversation grows without end; a model reads the reports of
 * scripts instead of their data, and a summary instead of what came before it.
 */

/**
 * Adds the items that follow `needed` in a conversation, and leaves out what no later run reads: the data of scripts
 * that have a report, and most of what is before the last summary.
 */
export function addNeeded(needed: readonly OutputItem[], items: readonly OutputItem[]): OutputItem[] {
  const all = [...needed, ...items.map(withoutScriptData)];
  const at = items.some(isCompaction) ? all.findLastIndex(isCompaction) : -1;
  if (at === -1) return all;
  const before = new BeforeSummary();
  const kept = all
    .slice(0, at)
    .toReversed()
    .flatMap((item) => before.neededOf(item));
  return [...kept.toReversed(), ...all.slice(at)];
}

function withoutScriptData(item: OutputItem): OutputItem {
  if (item.type !== 'script_execution_output' || item.report === undefined) return item;
  const { result: _result, output_json: _json, output: _output, ...read } = item;
  return { ...read, logs: [], operations: untrustedOperations(item) };
}

/** The first call that has read text of unknown authors, without its data. */
function untrustedOperations({ operations }: ScriptExecutionOutputItem): ScriptExecutionOutputItem['operations'] {
  const found = operations.find(({ untrusted }) => untrusted === true);
  return found === undefined ? [] : [{ ...found, input: null, result: undefined }];
}

/** Takes the items before a summary, the latest one first. */
class BeforeSummary {
  /** Characters of the latest items, which a script may repeat. */
  #comparedLeft = MAX_READ;
  /** Characters of the user's latest texts, which decide about guarded arguments. */
  #userLeft = MAX_USER_TEXTS;

  neededOf(item: OutputItem): OutputItem[] {
    const [text] = userText(item);
    const isLatestOfUser = text !== undefined && this.#userLeft >= 0;
    this.#userLeft -= text?.length ?? 0;
    if (this.#comparedLeft >= 0) this.#comparedLeft -= JSON.stringify(item).length;
    if (this.#comparedLeft >= 0 || isAnnouncement(item)) return [item];
    if (item.type === 'script_execution_output') return isOfProgram(item) ? [{ ...item, report: '' }] : [];
    return isLatestOfUser ? [noteMessage(item, text)] : [];
  }
}

function isAnnouncement(item: OutputItem): boolean {
  return item.type === 'message' && item.announces !== undefined;
}

/** Whether the output decides which variables later scripts have. */
function isOfProgram({ heap, scope, error, diagnostics = [] }: ScriptExecutionOutputItem): boolean {
  return heap !== undefined || scope !== undefined || error !== undefined || diagnostics.length > 0;
}

function noteMessage({ id }: OutputItem, content: string): MessageItem {
  return { type: 'message', id, role: 'user', content };
}
