import type { OutputItem } from '@toolscript/core/protocol';
import type { Style } from '../terminal/style.js';
import { visible } from '../terminal/untrusted.js';
import { cutToWidth } from '../terminal/width.js';
import { counted } from './durations.js';
import { banner, summary } from './script-report.js';

export interface SoFarSettings {
  readonly rows: number;
  readonly columns: number;
  readonly style: Style;
  /** The command that shows all. */
  readonly exportCommand: string;
}

/** The end of a conversation, in as many lines as fit, with a line that says how much came before. */
export function conversationSoFar(items: readonly OutputItem[], settings: SoFarSettings): string[] {
  const { rows, columns, style, exportCommand } = settings;
  const lines = items.flatMap((item) => itemLines(item, style).map((line) => cutToWidth(line, columns)));
  const from = Math.max(0, lines.length - rows);
  const shown = lines.slice(from);
  if (from === 0) return shown;
  const prompts = items.filter(isPrompt).length;
  return [
    style.dim(`… ${counted(from, 'line')} before, ${counted(prompts, 'prompt')} in all: ${exportCommand}`),
    ...shown,
  ];
}

function isPrompt(item: OutputItem): boolean {
  return item.type === 'message' && item.role === 'user';
}

function itemLines(item: OutputItem, style: Style): string[] {
  switch (item.type) {
    case 'message': {
      if (item.role === 'system') return [];
      const lines = visible(item.content).trim().split('\n');
      if (item.role === 'assistant') return lines.filter((line, index) => line !== '' || index > 0);
      return ['', ...lines.map((line, index) => style.bold(`${index === 0 ? '›' : ' '} ${line}`))];
    }
    case 'script_execution':
      return [banner(item, style)];
    case 'script_execution_output':
      return item.stands_in === true ? [] : summary(item, style).split('\n');
    case 'compaction':
      return [style.dim('… the conversation was summed up')];
    default:
      return [];
  }
}
