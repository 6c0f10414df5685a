import type { StreamEvent } from '@toolscript/core/protocol';
import type { Style } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { callSummary } from './call-summary.js';
import { shortDuration } from './durations.js';

export type Operation = Extract<StreamEvent['payload'], { type: 'tool_call_done' }>['operation'];

const MAX_REASON_LENGTH = 300;

/** One line for one call that has ended: a mark, the tool, what it was about, how long it took, why it failed. */
export function callLine(operation: Operation, style: Style): string {
  const { mark, word } = lookOf(operation.status, style);
  const about = callSummary(operation.input);
  const head = [mark, style.bold(visibleLine(operation.tool)), about].filter((part) => part !== '').join(' ');
  const duration = style.dim(shortDuration(operation.duration_ms));
  const reason = reasonOf(operation);
  return `  ${[head, duration, [word, reason].filter((part) => part !== '').join(' ')].filter((part) => part !== '').join('  ')}`;
}

function lookOf(status: Operation['status'], style: Style): { mark: string; word: string } {
  switch (status) {
    case 'completed':
      return { mark: style.green('✓'), word: '' };
    case 'failed':
      return { mark: style.red('✗'), word: '' };
    case 'denied':
      return { mark: style.yellow('⊘'), word: 'denied:' };
    case 'aborted':
      return { mark: style.yellow('⊘'), word: 'aborted' };
    case 'detached':
      return { mark: style.yellow('⊘'), word: 'not awaited' };
    case 'unknown':
      return { mark: style.red('?'), word: 'may or may not have taken effect' };
    case 'not_started':
      return { mark: style.dim('–'), word: 'not started' };
    case 'awaiting_approval':
      return { mark: style.yellow('…'), word: 'waits for an approval' };
  }
}

function reasonOf({ status, error }: Operation): string {
  if (error === undefined || (status !== 'failed' && status !== 'denied')) return '';
  const reason = visibleLine(error.message);
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH)}…`;
}
