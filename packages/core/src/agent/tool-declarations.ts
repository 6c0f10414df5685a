import type { Harness } from '../harness/index.js';
import { DEFAULT_INSTRUCTION_TOKENS } from '../prompt/instructions.js';
import { estimatePromptTokens } from '../prompt/tokens.js';
import type { MessageItem, OutputItem, Tool } from '../protocol/index.js';
import { newId } from '../text/crypto.js';
import { identifierName } from '../text/identifier-name.js';
import { declarationWriter, type DeclarationDetail } from '../tools/index.js';

interface DeclarationSettings {
  readonly harness: Harness;
  /** The system text, which shows as many tools as its budget allows. */
  readonly system: string | undefined;
  /** Maximum tokens of all declarations in the part of a conversation that the model reads. */
  readonly tokenBudget: number | undefined;
  readonly principal: string | undefined;
}

/** Maximum tokens of one message. */
const MAX_MESSAGE_TOKENS = 1_000;

const HEADING = 'The declarations of tools that scripts here have called or found:';

/**
 * Declares tools that the system text does not declare, once scripts of the conversation have called or found them. The
 * declarations follow the results, so that the beginning of the conversation stays the same.
 */
export class ToolDeclarations {
  readonly #settings: DeclarationSettings;
  /** The tools that the system text declares. */
  readonly #shown = new Map<string, boolean>();

  constructor(settings: DeclarationSettings) {
    this.#settings = settings;
  }

  /** The message that declares tools after this conversation. Undefined if it knows all that it has used. */
  after(conversation: readonly OutputItem[]): MessageItem | undefined {
    const { harness, principal, tokenBudget = DEFAULT_INSTRUCTION_TOKENS } = this.#settings;
    const used = usedTools(conversation);
    if (used.size === 0) return undefined;
    const earlier = conversation.filter(isDeclaring);
    const declared = new Set(earlier.flatMap(({ declares }) => declares));
    const missing = harness.tools().filter((tool) => {
      const name = identifierName(tool.name);
      return used.has(name) && !declared.has(name) && !this.#isShown(tool);
    });
    if (missing.length === 0) return undefined;
    const spent = earlier.reduce((sum, { content }) => sum + estimatePromptTokens(content), 0);
    let left = Math.min(MAX_MESSAGE_TOKENS, tokenBudget - spent) - estimatePromptTokens(declarationText(['']));
    const catalog = harness.catalog({ principal });
    const texts = new Map<string, string>();
    for (const { name } of missing) {
      const text = catalog.describe(identifierName(name)) ?? '';
      const tokens = estimatePromptTokens(text);
      if (tokens > left) continue;
      left -= tokens;
      texts.set(identifierName(name), text);
    }
    return texts.size === 0
      ? undefined
      : {
          type: 'message',
          id: newId('item'),
          role: 'system',
          content: declarationText([...texts.values()]),
          announces: 'changes',
          declares: [...texts.keys()],
        };
  }

  #isShown(tool: Tool): boolean {
    const known = this.#shown.get(tool.name);
    if (known !== undefined) return known;
    const { system = '' } = this.#settings;
    const isShown = DECLARING.some((detail) => system.includes(declarationStart(tool, detail)));
    this.#shown.set(tool.name, isShown);
    return isShown;
  }
}

function isDeclaring(item: OutputItem): item is MessageItem & { declares: string[] } {
  return item.type === 'message' && item.declares !== undefined;
}

/** The tools that scripts have called or found, as scripts write their names. */
function usedTools(conversation: readonly OutputItem[]): ReadonlySet<string> {
  const outputs = conversation.filter((item) => item.type === 'script_execution_output');
  return new Set(
    outputs.flatMap(({ operations, found = [] }) => [...operations.map(({ tool }) => identifierName(tool)), ...found]),
  );
}

/** The details that show the arguments of a tool. */
const DECLARING: readonly DeclarationDetail[] = ['full', 'types', 'signatures'];

/** The lines that declare a tool in a text, up to its result, of which a later text may know more. */
function declarationStart(tool: Tool, detail: DeclarationDetail): string {
  const indent = '  '.repeat(identifierName(tool.name).split('.').length);
  const { member } = declarationWriter([tool])(tool, detail);
  const text = member.map((line) => `${indent}${line}\n`).join('');
  return text.slice(0, text.lastIndexOf('): Promise<'));
}

function declarationText(declarations: readonly string[]): string {
  return `${HEADING}\n\n\`\`\`ts\n${declarations.join('').trimEnd()}\n\`\`\``;
}
