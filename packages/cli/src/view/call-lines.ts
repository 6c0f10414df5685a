import type { StreamEvent } from '@toolscript/core/protocol';
import type { Style } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { callSummary } from './call-summary.js';
import { shortDuration } from './durations.js';

export type Operation = Extract<StreamEvent['payload'], { type: 'tool_call_done' }>['operation'];

const MAX_REASON_LENGTH = 300;

/** One line for a call that has ended: a mark, the tool, its subject, its duration, and its error. */
export function callLine(operation: Operation, style: Style): string {
  const { mark, colour, word } = LOOKS[operation.status];
  const about = callSummary(operation.input);
  const head = [style[colour](mark), style.bold(visibleLine(operation.tool)), about]
    .filter((part) => part !== '')
    .join(' ');
  const duration = style.dim(shortDuration(operation.duration_ms));
  const reason = reasonOf(operation);
  return `  ${[head, duration, [word, reason].filter((part) => part !== '').join(' ')].filter((part) => part !== '').join('  ')}`;
}

const LOOKS: Readonly<
  Record<Operation['status'], { mark: string; colour: 'green' | 'red' | 'yellow' | 'dim'; word: string }>
> = {
  completed: { mark: '✓', colour: 'green', word: '' },
  failed: { mark: '✗', colour: 'red', word: '' },
  denied: { mark: '⊘', colour: 'yellow', word: 'denied:' },
  aborted: { mark: '⊘', colour: 'yellow', word: 'aborted' },
  detached: { mark: '⊘', colour: 'yellow', word: 'not awaited' },
  unknown: { mark: '?', colour: 'red', word: 'may or may not have taken effect' },
  not_started: { mark: '–', colour: 'dim', word: 'not started' },
  awaiting_approval: { mark: '…', colour: 'yellow', word: 'waits for an approval' },
};

function reasonOf({ status, error }: Operation): string {
  if (error === undefined || (status !== 'failed' && status !== 'denied')) return '';
  const reason = visibleLine(error.message);
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH)}…`;
}
