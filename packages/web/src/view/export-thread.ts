import type { OutputItem } from '@toolscript/core/stream';

/** A conversation as Markdown. */
export function threadMarkdown(title: string, items: readonly OutputItem[]): string {
  const parts = items.map(markdownOf).filter((part) => part !== '');
  return `# ${title.replaceAll(/\s+/gu, ' ')}\n\n${parts.join('\n\n')}\n`;
}

function markdownOf(item: OutputItem): string {
  switch (item.type) {
    case 'message':
      return item.role === 'user' ? `**You**\n\n${quote(item.content)}` : item.content.trim();
    case 'reasoning':
      return item.content === '' ? '' : `Reasoning:\n\n${quote(item.content)}`;
    case 'script_execution':
      return fence(item.source_code, item.language);
    case 'script_execution_output':
      return `Result (${item.status}):\n\n${fence(item.report ?? item.output_json ?? '', '')}`;
    case 'function_call_output':
      return fence(item.output, '');
    case 'plan':
      return item.steps.map(({ step, status }) => `- [${status === 'completed' ? 'x' : ' '}] ${step}`).join('\n');
    case 'compaction':
      return `Summary of the conversation so far:\n\n${quote(item.summary)}`;
    case 'error':
      return `Error ${item.code}: ${item.message}`;
    default:
      return '';
  }
}

function quote(text: string): string {
  return text.trim().replaceAll(/^/gmu, '> ');
}

/** The fence is longer than any in the text. */
function fence(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([ticks]) => ticks.length));
  const ticks = '`'.repeat(longest + 1);
  return `${ticks}${language}\n${text.trimEnd()}\n${ticks}`;
}
