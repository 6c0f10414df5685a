import type { OutputItem } from '@toolscript/core/protocol';
import { MarkdownStream } from '../terminal/markdown.js';
import type { Style } from '../terminal/screen.js';
import { visible } from '../terminal/untrusted.js';
import { cutToWidth } from '../terminal/width.js';
import { countWithNoun } from './values.js';
import { summarised } from './run-report.js';
import { banner, summary } from './script-report.js';

export interface SoFarSettings {
  readonly rows: number;
  readonly columns: number;
  readonly style: Style;
  /** The command that shows the whole conversation. */
  readonly exportCommand: string;
}

/** The last lines of a conversation, at most `rows`. If lines are omitted, an additional first line counts them. */
export function conversationSoFar(items: readonly OutputItem[], settings: SoFarSettings): string[] {
  const { rows, columns, style, exportCommand } = settings;
  const lines = items.flatMap((item) => itemLines(item, style, columns));
  const from = Math.max(0, lines.length - rows);
  const shown = lines.slice(from);
  if (from === 0) return shown;
  const prompts = items.filter(isPrompt).length;
  return [
    style.dim(`… ${countWithNoun(from, 'line')} before, ${countWithNoun(prompts, 'prompt')} in all: ${exportCommand}`),
    ...shown,
  ];
}

function isPrompt(item: OutputItem): boolean {
  return item.type === 'message' && item.role === 'user';
}

function itemLines(item: OutputItem, style: Style, columns: number): string[] {
  const fit = (line: string) => cutToWidth(line, columns);
  switch (item.type) {
    case 'message': {
      if (item.role === 'system') return [];
      if (item.role === 'assistant') return answerLines(item.content, style, columns);
      const lines = visible(item.content).trim().split('\n');
      return ['', ...lines.map((line, index) => style.bold(fit(`${index === 0 ? '›' : ' '} ${line}`)))];
    }
    case 'script_execution':
      return [fit(banner(item, style))];
    case 'script_execution_output':
      return item.stands_in === true ? [] : summary(item, style).split('\n').map(fit);
    case 'hosted_code':
      return [style.dim('… the provider ran code')];
    case 'compaction':
      return [style.dim(summarised(item))];
    default:
      return [];
  }
}

function answerLines(content: string, style: Style, columns: number): string[] {
  let shown = '';
  const stream = new MarkdownStream(
    (text) => (shown += text),
    style,
    () => columns,
  );
  stream.push(content);
  stream.end();
  return shown.trim() === '' ? [] : shown.replace(/(?<!\n)\n+$/u, '').split('\n');
}
