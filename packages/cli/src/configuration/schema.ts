import { LimitChangesSchema, type ApprovalRule } from '@toolscript/core/protocol';
import { z } from 'zod';
import { didYouMean } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { APPROVE_CHOICES, EXEC_SANDBOX_CHOICES, MODE_CHOICES, NOTIFY_CHOICES, RUNTIME_CHOICES } from './choices.js';

/** An approval rule in a file. */
export const ApprovalRuleSchema = z
  .strictObject({
    tool: z.string().optional(),
    effect: z.enum(['read', 'write', 'external']).optional(),
    input: z.record(z.string(), z.unknown()).optional(),
    permission: z.string().optional(),
    from: z.literal('untrusted').optional(),
    action: z.enum(['approve', 'deny', 'ask']),
  })
  .transform((rule) => rule as ApprovalRule);

const HookSchema = z.strictObject({
  /** The program and its arguments. The program is on PATH, or has an absolute path. */
  command: z.array(z.string()).min(1),
  /** In ms. Default 10 000. */
  timeoutMs: z.number().int().min(1).max(600_000).optional(),
});

/** A command at an event. `isOfWorkspace`: a trusted workspace names it, not the user. */
export type Hook = z.infer<typeof HookSchema> & { readonly isOfWorkspace?: true | undefined };

/** Commands at events. */
const HooksSchema = z.strictObject({
  /** Before each call of the named tools, by default of all. A status other than 0 refuses the call. */
  beforeCall: z.array(HookSchema.extend({ tools: z.array(z.string()).optional() })).default([]),
  afterScript: z.array(HookSchema).default([]),
  /** When a run of a conversation ends, and when it begins to wait for the user. */
  atEnd: z.array(HookSchema).default([]),
});

export type Hooks = z.infer<typeof HooksSchema>;

/** The complete configuration. A workspace's file may contain only `limits`, `expose.tools` and `hooks`. */
export const ConfigurationSchema = z.strictObject({
  /** The policy for calls that need an approval. */
  approve: z.enum(APPROVE_CHOICES).optional(),
  /** Rules that decide before the user is asked; the first match decides. A workspace cannot set them. */
  rules: z.array(ApprovalRuleSchema).optional(),
  /**
   * `destinations`: recipients, URLs, paths and commands that untrusted text may have chosen need the decision of the
   * user, whatever `approve` and `rules` say. A workspace cannot set it.
   */
  flow: z.literal('destinations').optional(),
  mode: z.enum(MODE_CHOICES).optional(),
  runtime: z.enum(RUNTIME_CHOICES).optional(),
  limits: LimitChangesSchema.optional(),
  /**
   * The tools that scripts may use: those of the pack, and the named ones. Default: every tool except the web tools.
   */
  expose: z.strictObject({ pack: z.string().optional(), tools: z.array(z.string()).optional() }).optional(),
  /** The settings of `exec`. A workspace cannot set them. */
  exec: z
    .strictObject({
      sandbox: z.enum(EXEC_SANDBOX_CHOICES).optional(),
      /** Host names that sandboxed programs may reach. */
      network: z.strictObject({ allow: z.array(z.string()) }).optional(),
    })
    .optional(),
  /** The settings of the web tools. A workspace cannot set them. */
  web: z
    .strictObject({
      /** Hosts, addresses and ranges that are not public, but that the web tools may contact. */
      allow: z.array(z.string()),
    })
    .optional(),
  /**
   * The signal of a question at the terminal: its bell, or a notification of the desktop, which the terminal shows.
   * Default `off`.
   */
  notify: z.enum(NOTIFY_CHOICES).optional(),
  /** Commands at events, which read JSON on stdin. */
  hooks: HooksSchema.optional(),
  /** The name of the agent for `toolscript chat`. */
  agent: z.string().optional(),
  /** Names of models, by agent. Each replaces the agent's own model. */
  models: z.record(z.string(), z.string().min(1)).optional(),
  packs: z
    .record(
      z.string(),
      z.strictObject({
        extends: z.union([z.string(), z.array(z.string())]).optional(),
        tools: z.array(z.string()).default([]),
      }),
    )
    .optional(),
});

export type Configuration = z.infer<typeof ConfigurationSchema>;

export const WorkspaceConfigurationSchema = z.strictObject({
  limits: LimitChangesSchema.optional(),
  expose: z.strictObject({ tools: z.array(z.string()).optional() }).optional(),
  /** They run only while the user trusts the file's text, next to those of the user. */
  hooks: HooksSchema.optional(),
});

export type WorkspaceConfiguration = z.infer<typeof WorkspaceConfigurationSchema>;

/** The parsed value. Throws a UsageError that names the file, the key and the nearest existing key. */
export function checkConfiguration<Schema extends z.ZodObject>(
  schema: Schema,
  value: unknown,
  file: string,
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0] as z.core.$ZodIssue;
  throw new UsageError(`${file}: ${describeIssue(issue, schema)}`);
}

function describeIssue(issue: z.core.$ZodIssue, schema: z.ZodObject): string {
  const path = issue.path.map(String).join('.');
  if (issue.code !== 'unrecognized_keys')
    return `"${visibleLine(path)}": ${visibleLine(lowerFirst(issue.message))}. Correct the value, or remove the key.`;
  const key = issue.keys[0] ?? '';
  const known = keysAt(schema, issue.path);
  const full = visibleLine(path === '' ? key : `${path}.${key}`);
  if (
    path === '' &&
    schema === (WorkspaceConfigurationSchema as z.ZodObject) &&
    Object.hasOwn(ConfigurationSchema.shape, key)
  ) {
    return `a workspace cannot set "${full}". Set it in your own configuration.`;
  }
  return `unknown key "${full}".${didYouMean(key, known) || ` The keys are ${known.join(', ')}.`}`;
}

function keysAt(schema: z.ZodObject, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema;
  for (const key of path) {
    const inner = innerSchema(at);
    if (inner instanceof z.ZodObject) at = inner.shape[String(key)];
    else if (inner instanceof z.ZodRecord) at = inner.valueType;
    else if (inner instanceof z.ZodArray) at = inner.element;
  }
  const found = innerSchema(at);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function innerSchema(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return innerSchema(schema.unwrap());
  return schema instanceof z.ZodPipe ? innerSchema(schema.in) : schema;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
