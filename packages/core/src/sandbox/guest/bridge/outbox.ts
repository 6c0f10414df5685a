// The guest's message at the end of a segment. `quickjs/outbox.ts` reads the message and describes its form.
import { stringify } from '../primordials.js';
import { join } from './captured.js';

export const outbox = {
  /** JSON text of each call. */
  calls: [] as string[],
  /** JSON text of each call's arguments. */
  arguments: [] as string[],
  argumentUnits: 0,
  /** JSON text of the log entries, separated by commas and without brackets. */
  logs: '',
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
    outbox.end === '' && outbox.logs === '' && outbox.output === '' && outbox.progress === '' && !hasDropped;
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
  outbox.droppedLogs = outbox.droppedProgress = 0;
  return message;
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
  if (outbox.logs !== '') add('logs', '[' + outbox.logs + ']');
  if (outbox.progress !== '') add('progress', '[' + outbox.progress + ']');
  if (outbox.output !== '') add('output', stringify(outbox.output));
  if (hasDropped) add('dropped', '[' + outbox.droppedLogs + ',' + outbox.droppedProgress + ']');
  if (outbox.end !== '') add('end', outbox.end);
  return text;
}
