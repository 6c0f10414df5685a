// The script's output to the user, the model and the operator: text, console lines and progress.
import { stringify } from '../primordials.js';
import type { LogLevel } from '../console/console.js';
import { isError, slice, toText } from './captured.js';
import { capText, describeText, makeLine, show, withinRoom } from './inspect.js';
import { startOfJson, writeJson } from './json.js';
import { limits } from './limits.js';
import { outbox } from './outbox.js';
import { NOT_SHOWN } from './stacks.js';

const usedAmounts = { logs: 0, logBytes: 0, output: 0, progress: 0 };

export function writeLog(level: LogLevel, makeText: () => string): void {
  if (usedAmounts.logs >= limits.logs || usedAmounts.logBytes >= limits.logBytes) {
    outbox.droppedLogs++;
    return;
  }
  let text = NOT_SHOWN;
  try {
    text = makeLine(makeText);
  } catch {
    // Making the text threw an error, for example in a getter of a table's row. The line then shows NOT_SHOWN.
  }
  // defence: budget-after-log-text
  if (usedAmounts.logs >= limits.logs || usedAmounts.logBytes >= limits.logBytes) {
    outbox.droppedLogs++;
    return;
  }
  usedAmounts.logs++;
  usedAmounts.logBytes += text.length;
  outbox.logs += (outbox.logs === '' ? '["' : ',["') + level + '",' + stringify(text) + ']';
}

/** Data as JSON, and any other value as the console shows it. The text is truncated shortly after `units`. */
function shownAsJson(value: unknown, units: number): string {
  try {
    if (isError(value)) return describeText(value);
    const isData = typeof value === 'object' && value !== null;
    const json = isData ? startOfJson(units, (cut) => writeJson(value, '', cut)) : undefined;
    return json === undefined ? withinRoom(units, () => show(value, 0)) : json;
  } catch {
    return describeText(value);
  }
}

export function text(value: unknown): void {
  if (usedAmounts.output >= limits.output) return;
  const added = typeof value === 'string' ? value : shownAsJson(value, limits.output - usedAmounts.output + 1);
  // A getter or a toJSON may have emitted output.
  const room = limits.output - usedAmounts.output;
  if (room <= 0) return;
  usedAmounts.output += added.length;
  // One extra unit remains, so that the host, which counts bytes, sees and reports the truncation.
  outbox.output += added.length > room ? slice(added, 0, room + 1) : added;
}

export function emitProgress(message: unknown, kind: unknown): void {
  const maxEvents = limits.progress * 4 + 64;
  if (usedAmounts.progress >= maxEvents) {
    outbox.droppedProgress++;
    return;
  }
  const shown = capText(toText(message));
  // defence: budget-after-progress-text
  if (usedAmounts.progress >= maxEvents) {
    outbox.droppedProgress++;
    return;
  }
  usedAmounts.progress++;
  outbox.progress +=
    (outbox.progress === '' ? '[' : ',[') + stringify(shown) + ',' + (kind === 'warn' ? '"warn"' : '"info"') + ']';
}
