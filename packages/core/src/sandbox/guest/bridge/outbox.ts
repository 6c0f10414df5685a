// The guest's message at the end of a segment. `quickjs/outbox.ts` reads the message and describes its form.
import { stringify } from '../primordials.js';
import { join } from './captured.js';

export const outbox = {
  /** JSON text of each call. */
  calls: [] as string[],
  /** JSON text of each call's arguments. */
  arguments: [] as string[],
  argumentUnits: 0,
  /** JSON text of the first console lines of the segment, separated by commas and without brackets. */
  logs: '',
  /** The number of the first lines, and their length. No line follows them after one of the last lines. */
  logCount: 0,
  logUnits: 0,
  /** JSON text of each of the last console lines of the segment, from `lastLogsFrom` on. */
  lastLogs: [] as string[],
  lastLogsFrom: 0,
  lastLogUnits: 0,
  progress: '',
  output: '',
  /** JSON text of the script's end; empty while the script runs. */
  end: '',
  droppedLogs: 0,
  droppedProgress: 0,
};

/**
 * Returns the message of this segment and empties the outbox, except for the end of the script. The message is empty if
 * nothing happened.
 */
export function flush(): string {
  const hasDropped = outbox.droppedLogs + outbox.droppedProgress > 0;
  const isQuiet =
    outbox.end === '' &&
    outbox.logs === '' &&
    outbox.lastLogs.length === 0 &&
    outbox.output === '' &&
    outbox.progress === '' &&
    !hasDropped;
  // Most segments contain at most one call and nothing else.
  if (isQuiet && outbox.calls.length < 2) {
    if (outbox.calls.length === 0) return '';
    const oneCall = ':{"calls":[' + outbox.calls[0] + ']}\n' + outbox.arguments[0];
    emptyCalls();
    return oneCall;
  }
  const message = (outbox.end === '' ? ':{' : '!{') + members(hasDropped) + '}\n' + join(outbox.arguments, '');
  emptyCalls();
  outbox.logs = outbox.progress = outbox.output = '';
  outbox.logCount = outbox.logUnits = outbox.lastLogsFrom = outbox.lastLogUnits = 0;
  outbox.lastLogs = [];
  outbox.droppedLogs = outbox.droppedProgress = 0;
  return message;
}

function allLogs(): string {
  const last = join(outbox.lastLogs.slice(outbox.lastLogsFrom), ',');
  return outbox.logs + (outbox.logs !== '' && last !== '' ? ',' : '') + last;
}

function emptyCalls(): void {
  outbox.calls = [];
  outbox.arguments = [];
  outbox.argumentUnits = 0;
}

function members(hasDropped: boolean): string {
  let text = '';
  const add = (name: string, json: string): void => {
    text += (text === '' ? '"' : ',"') + name + '":' + json;
  };
  if (outbox.calls.length > 0) add('calls', '[' + join(outbox.calls, ',') + ']');
  const logs = allLogs();
  if (logs !== '') add('logs', '[' + logs + ']');
  if (outbox.progress !== '') add('progress', '[' + outbox.progress + ']');
  if (outbox.output !== '') add('output', stringify(outbox.output));
  if (hasDropped) add('dropped', '[' + outbox.droppedLogs + ',' + outbox.droppedProgress + ']');
  if (outbox.end !== '') add('end', outbox.end);
  return text;
}
