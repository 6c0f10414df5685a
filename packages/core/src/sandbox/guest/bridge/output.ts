// The script's output to the user, the model and the operator: text, console lines and progress.
import { floor, stringify } from '../primordials.js';
import type { LogLevel } from '../console/console.js';
import { isError, slice, toText } from './captured.js';
import { capText, describeText, makeLine, show, withinRoom } from './inspect.js';
import { startOfJson, writeJson } from './json.js';
import { limits } from './limits.js';
import { outbox } from './outbox.js';
import { NOT_SHOWN } from './stacks.js';

const usedAmounts = { output: 0, progress: 0 };

export function resetOutput(): void {
  usedAmounts.output = usedAmounts.progress = 0;
}

/** Keeps the first and the last console lines of a segment: half of the limits for each. */
export function writeLog(level: LogLevel, makeText: () => string): void {
  let text = NOT_SHOWN;
  try {
    text = makeLine(makeText);
  } catch {
    // Making the text threw an error, for example in a getter of a table's row. The line then shows NOT_SHOWN.
  }
  const entry = '["' + level + '",' + stringify(text) + ']';
  // defence: budget-after-log-text
  if (
    outbox.lastLogs.length === 0 &&
    outbox.logCount < floor(limits.logs / 2) &&
    outbox.logUnits + text.length <= limits.logBytes / 2
  ) {
    outbox.logCount++;
    outbox.logUnits += text.length;
    outbox.logs += (outbox.logs === '' ? '' : ',') + entry;
  } else addLastLog(entry);
}

function addLastLog(entry: string): void {
  outbox.lastLogs[outbox.lastLogs.length] = entry;
  outbox.lastLogUnits += entry.length;
  while (
    outbox.lastLogs.length - outbox.lastLogsFrom > limits.logs - floor(limits.logs / 2) ||
    (outbox.lastLogUnits > limits.logBytes / 2 && outbox.lastLogsFrom < outbox.lastLogs.length)
  ) {
    outbox.lastLogUnits -= outbox.lastLogs[outbox.lastLogsFrom++]!.length;
    outbox.droppedLogs++;
  }
  // Half of the list at most holds lines that were dropped, and a script of many lines moves each a few times.
  if (outbox.lastLogsFrom * 2 > outbox.lastLogs.length + 64) {
    outbox.lastLogs = outbox.lastLogs.slice(outbox.lastLogsFrom);
    outbox.lastLogsFrom = 0;
  }
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
