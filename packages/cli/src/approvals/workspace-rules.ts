import { findApprovalRule } from '@toolscript/core';
import type { ApprovalRequest, ApprovalRule, JsonValue, Tool } from '@toolscript/core/protocol';
import type { RuleSuggestion } from '@toolscript/tools';
import type { NewRule, RuleFolder } from './rule-folder.js';

export type SuggestRule = (tool: Tool, input: JsonValue) => RuleSuggestion | undefined;

/** The rules in force in one run: the person's own, then what was remembered for the workspace, also just now. */
export class WorkspaceRules {
  readonly #own: readonly ApprovalRule[];
  readonly #remembered: ApprovalRule[];
  readonly #folder: RuleFolder | undefined;
  #tools: readonly Tool[] = [];
  #suggestRule: SuggestRule | undefined;

  /** `folder` undefined: nothing can be remembered here. */
  constructor(own: readonly ApprovalRule[], remembered: readonly ApprovalRule[], folder: RuleFolder | undefined) {
    this.#own = own;
    this.#remembered = [...remembered];
    this.#folder = folder;
  }

  /** The person's own come first, so that what they forbid stays forbidden. */
  get rules(): readonly ApprovalRule[] {
    return [...this.#own, ...this.#remembered];
  }

  /** The tools whose calls are asked about, and who knows what "always" means for them. */
  know(tools: readonly Tool[], suggestRule: SuggestRule): void {
    this.#tools = tools;
    this.#suggestRule = suggestRule;
  }

  /** Whether a rule that was remembered after the call was made lets it pass. */
  allows(request: ApprovalRequest): boolean {
    const tool = this.#toolOf(request);
    return tool !== undefined && findApprovalRule(this.rules, tool, inputOf(request))?.action === 'approve';
  }

  /** What could be allowed always; undefined where nothing can, or the person's own rules say to ask. */
  suggest(request: ApprovalRequest): NewRule | undefined {
    const tool = this.#toolOf(request);
    if (tool === undefined || this.#folder === undefined) return undefined;
    const input = inputOf(request);
    if (findApprovalRule(this.#own, tool, input) !== undefined) return undefined;
    const suggestion = this.#suggestRule?.(tool, input);
    return suggestion === undefined ? undefined : { covers: suggestion.covers, rules: [...suggestion.rules] };
  }

  /** Throws a UsageError where it cannot be kept; then it holds for nothing. */
  async remember(rule: NewRule): Promise<void> {
    await this.#folder?.add(rule);
    this.#remembered.push(...rule.rules);
  }

  #toolOf(request: ApprovalRequest): Tool | undefined {
    return this.#tools.find(({ name }) => name === request.tool);
  }
}

function inputOf({ inputJson }: ApprovalRequest): JsonValue {
  return JSON.parse(inputJson) as JsonValue;
}
