import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { findApprovalRule } from '@toolscript/core';
import type { ApprovalRequest, ApprovalRule, JsonValue, Tool } from '@toolscript/core/protocol';
import type { RuleSuggestion } from '@toolscript/tools';
import { z } from 'zod';
import type { UserFolder } from '../configuration/locations.js';
import { demandOutside } from '../configuration/workspace-folder.js';
import { deleteFile, factFileName, readJsonFile, writeJsonFile } from '../configuration/json-files.js';
import { ApprovalRuleSchema } from '../configuration/schema.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError, isUsageError, systemCode } from '../usage-error.js';
import { hasDoubtfulSource } from './permission-mode.js';

/** The call that an approval is about. */
type ApprovedCall = Pick<ApprovalRequest, 'tool' | 'inputJson' | 'provenance'>;

export type SuggestRules = (tool: Tool, input: JsonValue) => readonly RuleSuggestion[];

/** The rules of one run: the user's own, then those that are stored for the workspace, including new ones. */
export class WorkspaceRules {
  readonly #own: readonly ApprovalRule[];
  readonly #rememberedRules: ApprovalRule[];
  readonly #folder: RuleFolder | undefined;
  #tools: () => readonly Tool[] = () => [];
  #suggestRules: SuggestRules | undefined;

  /** If `folder` is undefined, new rules are not stored. */
  constructor(own: readonly ApprovalRule[], remembered: readonly ApprovalRule[], folder: RuleFolder | undefined) {
    this.#own = own;
    this.#rememberedRules = [...remembered];
    this.#folder = folder;
  }

  /** The user's own rules come first, so that their prohibitions stay in force. */
  get rules(): readonly ApprovalRule[] {
    return [...this.#own, ...this.#rememberedRules];
  }

  /** Sets the current tools, and the function that suggests "always allow" rules for their calls. */
  know(tools: () => readonly Tool[], suggestRules: SuggestRules): void {
    this.#tools = tools;
    this.#suggestRules = suggestRules;
  }

  /** Whether the rules allow the call now. A rule may be newer than the call. */
  allows(request: ApprovedCall): boolean {
    // defence: rules-allow-no-doubtful-source
    if (hasDoubtfulSource(request)) return false;
    const tool = this.#requestedTool(request);
    return tool !== undefined && findApprovalRule(this.rules, tool, approvedInput(request))?.action === 'approve';
  }

  /**
   * The rules of "always allow", the narrowest first; empty if no rule is possible or can be stored, or if one of the
   * user's own rules matches.
   */
  suggest(request: ApprovedCall): NewRule[] {
    const tool = this.#requestedTool(request);
    if (tool === undefined || this.#folder === undefined) return [];
    const input = approvedInput(request);
    if (findApprovalRule(this.#own, tool, input) !== undefined) return [];
    const suggestions = this.#suggestRules?.(tool, input) ?? [];
    return suggestions.map(({ covers, rules }) => ({ covers, rules: [...rules] }));
  }

  /** Stores and applies a rule. Throws a UsageError if the rule cannot be stored; the rule then does not apply. */
  async remember(rule: NewRule): Promise<void> {
    await this.#folder?.add(rule);
    this.#rememberedRules.push(...rule.rules);
  }

  /** Applies a rule without storing it. */
  allowForSession(rule: NewRule): void {
    this.#rememberedRules.push(...rule.rules);
  }

  #requestedTool(request: ApprovedCall): Tool | undefined {
    return this.#tools().find(({ name }) => name === request.tool);
  }
}

function approvedInput({ inputJson }: ApprovedCall): JsonValue {
  return JSON.parse(inputJson) as JsonValue;
}

/*
 * The calls that a user always allows in one workspace. They are stored in the user's own folder, never in the
 * workspace, as `rules/HASH/HASH.json`. The first hash is of the workspace's real path, the second of the rules.
 */

const RememberedSchema = z.strictObject({
  workspace: z.string(),
  /** The description of the allowed calls, as the user saw it. */
  covers: z.string(),
  /** Only approvals, each for a named tool: a prohibition belongs in the configuration. */
  rules: z.array(
    ApprovalRuleSchema.refine(({ action, tool }) => action === 'approve' && tool !== undefined, 'expected an approval'),
  ),
  /** In ms since the Unix epoch. */
  rememberedAt: z.number(),
});

export interface RememberedRule extends z.infer<typeof RememberedSchema> {
  readonly id: string;
}

export type NewRule = Pick<RememberedRule, 'covers' | 'rules'>;

export class RuleFolder {
  readonly #workspace: string;
  readonly #path: string;

  /** The rules of a workspace. `workspace` is a real path. */
  constructor(user: UserFolder, workspace: string) {
    this.#workspace = workspace;
    this.#path = join(user.rulesFolder, factFileName(workspace));
  }

  /**
   * The stored rules, oldest first. `warn` is called for invalid files. Throws a UsageError if the folder cannot be
   * read.
   */
  async list(warn: (message: string) => void): Promise<RememberedRule[]> {
    const files = (await this.#files()).filter((name) => /^[0-9a-f]+\.json$/u.test(name));
    const read = await Promise.all(files.map((name) => this.#read(name, warn)));
    return read
      .filter((rule) => rule !== undefined)
      .toSorted((one, other) => one.rememberedAt - other.rememberedAt || (one.id < other.id ? -1 : 1));
  }

  /** Writes the complete file, or nothing. Throws a UsageError if the file cannot be written. */
  async add({ covers, rules }: NewRule): Promise<void> {
    const remembered = { workspace: this.#workspace, covers, rules, rememberedAt: Date.now() };
    await writeJsonFile(join(this.#path, `${factFileName(JSON.stringify(rules))}.json`), remembered);
  }

  /** Idempotent. */
  async remove(id: string): Promise<void> {
    await deleteFile(join(this.#path, `${id}.json`));
  }

  async #files(): Promise<string[]> {
    try {
      return await readdir(this.#path);
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ENOENT' || code === 'ENOTDIR') return [];
      throw new UsageError(
        `${visibleLine(this.#path)} cannot be read (${code ?? 'unknown error'}). Make the folder readable for your user, or remove the folder.`,
      );
    }
  }

  /** A file that is damaged, or belongs to another workspace, allows nothing. */
  async #read(name: string, warn: (message: string) => void): Promise<RememberedRule | undefined> {
    const path = join(this.#path, name);
    try {
      // defence: rules-outside-workspace
      demandOutside(path, this.#workspace);
      const value = await readJsonFile(path);
      if (value === undefined) return undefined;
      const parsed = RememberedSchema.safeParse(value);
      if (parsed.success && parsed.data.workspace === this.#workspace)
        return { ...parsed.data, id: basename(name, '.json') };
      warn(`${visibleLine(path)} contains no rule of this workspace, so the file is ignored. Remove the file.`);
    } catch (error) {
      if (!isUsageError(error)) throw error;
      warn(error.message);
    }
    return undefined;
  }
}
