import { cancelQuestions } from '../approvals/server-form.js';
import type { Tool } from '@toolscript/core/protocol';
import { type SettingFlags, loadSettings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import { openEngines } from '../harness/engines.js';
import { openHarnessWithServers } from '../harness/open-harness.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { jsonText, visible, visibleLine } from '../terminal/untrusted.js';
import { cutToWidth } from '../terminal/width.js';

export interface ToolsFlags extends SettingFlags {
  types?: boolean | undefined;
  json?: boolean | undefined;
}

/** Prints the tools that scripts can call. */
export async function listTools(flags: ToolsFlags): Promise<number> {
  const screen = openScreen();
  const warn = screen.notice;
  const settings = await loadSettings(flags, process.env, warn);
  const enabled = { ...settings, mode: 'enabled' as const };
  const { harness, servers } = await openHarnessWithServers(enabled, {
    engines: openEngines(),
    warn,
    ...cancelQuestions(),
  });
  try {
    const exposed = harness.tools();
    if (flags.types === true) screen.write(`${visible(harness.declarations()).trimEnd()}\n`);
    else if (flags.json === true) screen.write(`${jsonText(exposed.map(toolSchemas), 2)}\n`);
    else showTable(screen, exposed);
    return EXIT.completed;
  } finally {
    await harness.close();
    await servers?.close();
  }
}

function toolSchemas({ name, description, effect, approval, inputSchema, outputSchema }: Tool) {
  return {
    name,
    description,
    effect,
    approval: typeof approval === 'function' ? 'depends' : approval,
    inputSchema,
    outputSchema: outputSchema ?? null,
  };
}

function showTable(screen: Screen, tools: readonly Tool[]): void {
  const widest = Math.max(0, ...tools.map(({ name }) => name.length));
  for (const tool of tools) {
    const line = `${tool.name.padEnd(widest)}  ${tool.effect.padEnd('external'.length)}  ${approvalWord(tool).padEnd('may ask'.length)}  ${firstSentence(tool.description)}`;
    const shown = visibleLine(line);
    screen.line(screen.isTerminal ? cutToWidth(shown, screen.columns) : shown);
  }
  if (tools.length === 0) screen.line('No tools are exposed.');
}

function approvalWord({ approval, effect }: Tool): string {
  if (approval === 'always') return 'asks';
  if (approval === 'never' || (approval === 'policy' && effect === 'read')) return '';
  return approval === 'policy' ? 'asks' : 'may ask';
}

/**
 * A sentence ends after a word, before a capital letter or the end of the text. The `?` of `* ? [` does not end a
 * sentence.
 */
function firstSentence(text: string): string {
  return /^.*?(?<=[\p{L}\p{N})\]"'`])[.!?](?=\s+\p{Lu}|\s*$)/su.exec(text)?.[0] ?? text;
}
