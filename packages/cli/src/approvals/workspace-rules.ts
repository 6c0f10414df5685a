import { findApprovalRule } from '@toolscript/core';
import type { ApprovalRequest, ApprovalRule, JsonValue, Tool } from '@toolscript/core/protocol';
import type { RuleSuggestion } from '@toolscript/tools';
import type { NewRule, RuleFolder } from './rule-folder.js';

/** The call that an approval is about. */
type ApprovedCall = Pick<ApprovalRequest, 'tool' | 'inputJson'>;

export type SuggestRule = (tool: Tool, input: JsonValue) => RuleSuggestion | undefined;

/** The rules of one run: the user's own, then those that are stored for the workspace, including new ones. */
export class WorkspaceRules {
  readonly #own: readonly ApprovalRule[];
  readonly #remembered: ApprovalRule[];
  readonly #folder: RuleFolder | undefined;
  #tools: () => readonly Tool[] = () => [];
  #suggestRule: SuggestRule | undefined;

  /** `folder` undefined: no rules can be stored here. */
  constructor(own: readonly ApprovalRule[], remembered: readonly ApprovalRule[], folder: RuleFolder | undefined) {
    this.#own = own;
    this.#remembered = [...remembered];
    this.#folder = folder;
  }

  /** The user's own rules come first, so that their prohibitions stay in force. */
  get rules(): readonly ApprovalRule[] {
    return [...this.#own, ...this.#remembered];
  }

  /** The current tools whose calls need a decision, and the source of the "always allow" rules for them. */
  know(tools: () => readonly Tool[], suggestRule: SuggestRule): void {
    this.#tools = tools;
    this.#suggestRule = suggestRule;
  }

  /** Whether a rule that was stored after the call was made allows it. */
  allows(request: ApprovedCall): boolean {
    const tool = this.#toolOf(request);
    return tool !== undefined && findApprovalRule(this.rules, tool, inputOf(request))?.action === 'approve';
  }

  /** The rules of "always allow"; undefined if there can be none, or if the user's own rules ask. */
  suggest(request: ApprovedCall): NewRule | undefined {
    const tool = this.#toolOf(request);
    if (tool === undefined || this.#folder === undefined) return undefined;
    const input = inputOf(request);
    if (findApprovalRule(this.#own, tool, input) !== undefined) return undefined;
    const suggestion = this.#suggestRule?.(tool, input);
    return suggestion === undefined ? undefined : { covers: suggestion.covers, rules: [...suggestion.rules] };
  }

  /** Throws a UsageError if the rule cannot be stored. Then it does not apply. */
  async remember(rule: NewRule): Promise<void> {
    await this.#folder?.add(rule);
    this.#remembered.push(...rule.rules);
  }

  #toolOf(request: ApprovedCall): Tool | undefined {
    return this.#tools().find(({ name }) => name === request.tool);
  }
}

function inputOf({ inputJson }: ApprovedCall): JsonValue {
  return JSON.parse(inputJson) as JsonValue;
}
