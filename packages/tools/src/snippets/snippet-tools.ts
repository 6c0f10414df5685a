import { defineTool } from '@toolscript/core';
import type { DocumentPlace, DocumentStore, JsonObject, Tool, ToolCallContext } from '@toolscript/core/protocol';
import { previewText, type SavedScriptCall } from '@toolscript/core/internal';
import { z } from 'zod';
import {
  demandScope,
  documentOwner,
  ScopeSchema,
  type CommonOwner,
  type DocumentOwner,
  type ScopeName,
} from '../documents/scopes.js';
import { documentChange } from '../cabinet/file-keys.js';
import { awaitStore, savedLabel } from '../cabinet/documents.js';
import { DeletedVersion, deleteOnce, pinDeletion } from '../documents/deletions.js';
import { deletionPreview } from '../documents/deletion-preview.js';
import { failure } from '../failure.js';
import {
  checkInput,
  checkSchemas,
  findSnippet,
  listSnippets,
  missingSnippet,
  unlinkedSnippetError,
  readSnippet,
  savedCall,
  withResults,
  type SnippetLibrary,
} from './snippet-library.js';
import { MAX_SCHEMA, MAX_SOURCE, snippetScript, SnippetName, VERSION } from './snippet-shapes.js';

const JsonSchema = z.record(z.string(), z.unknown());

/** Saved scripts: snippets.save, snippets.run, snippets.get, snippets.list and snippets.delete. */
export function snippetTools(library: SnippetLibrary): Tool[] {
  return [saveTool(library), runTool(library), getTool(library), listTool(library), deleteTool(library)];
}

const SaveInput = z.object({
  name: SnippetName,
  description: z.string().min(1).max(1_000),
  source: z
    .string()
    .min(1)
    .max(MAX_SOURCE)
    .describe('TypeScript: the body of an async function, which reads `input`, calls `tools` and returns the result.'),
  input: JsonSchema.describe('JSON Schema of `input`: an object.'),
  output: JsonSchema.optional().describe('JSON Schema of the result. Default: any JSON value.'),
  scope: ScopeSchema.optional(),
});

function saveTool({ documents, ...common }: SnippetLibrary): Tool {
  return defineTool({
    name: 'snippets.save',
    description: 'Saves a script for later scripts, as the next version of its name. It is checked, and does not run.',
    input: SaveInput,
    output: z.object({ name: z.string(), scope: ScopeSchema, version: VERSION, tools: z.array(z.string()) }),
    approval: 'always',
    effect: 'write',
    idempotent: true,
    preview: snippetPreview,
    // An approval must show the whole snippet, even if every character is escaped.
    previewLength: 16 * (MAX_SOURCE + 2 * MAX_SCHEMA + 2_000),
    execute: (draft, context) => saveSnippet(documents, common, draft, context),
  });
}

function snippetPreview({
  name,
  description,
  source,
  input,
  output,
  scope = 'thread',
}: z.output<typeof SaveInput>): string {
  return previewText({
    title: `Save the script "${name}" (${scope})`,
    facts: { Input: JSON.stringify(input), Result: output && JSON.stringify(output) },
    texts: { Source: source },
    notes: { Description: description },
  });
}

async function saveSnippet(
  documents: DocumentStore,
  common: CommonOwner,
  { name, description, source, scope: kind = 'thread', ...schemas }: z.output<typeof SaveInput>,
  context: ToolCallContext,
) {
  const { savedScripts } = context;
  const scope = demandScope(documentOwner(context, common), kind);
  const input = shortSchema(schemas.input, 'input');
  const output = schemas.output === undefined ? undefined : shortSchema(schemas.output, 'output');
  checkSchemas(input, output);
  const checked = await savedScripts?.check({ name, version: 1, source, input, output });
  if (checked === undefined)
    throw failure('unavailable', 'Snippets can be saved only in a harness. Call the tool in a script.');
  if (!checked.ok) throw failure('bad_script', `The snippet was not saved. ${checked.problem}`);
  // A user who approved the call has read the source.
  const label = context.covers === undefined ? savedLabel(context) : {};
  const about = { description, input, ...(output === undefined ? {} : { output }), ...label };
  const draft = { scope, kind: 'snippet', name, text: source, about, ...documentChange(context) } as const;
  const saved = await awaitStore(documents.save(draft));
  return { name, scope: kind, version: saved.version, tools: [...checked.tools] };
}

function shortSchema(schema: z.output<typeof JsonSchema>, member: 'input' | 'output'): JsonObject {
  const { length } = JSON.stringify(schema);
  if (length <= MAX_SCHEMA) return schema as JsonObject;
  throw failure(
    'too_large',
    `The schema "${member}" has ${length} characters; at most ${MAX_SCHEMA} are allowed. Make it shorter.`,
  );
}

function runTool({ documents, ...common }: SnippetLibrary): Tool {
  const tool = defineTool({
    name: 'snippets.run',
    description:
      'Runs a saved script inside this one, and returns its result. Its tool calls are calls of this script. Write the name as a literal.',
    input: z.object({
      name: SnippetName,
      version: VERSION.optional().describe('Default: the newest one when this script started.'),
      input: z.record(z.string(), z.unknown()).optional(),
    }),
    approval: 'never',
    effect: 'read',
    savedScript: async ({ name, version }, owner) => {
      if (typeof name !== 'string' || !SnippetName.safeParse(name).success) return undefined;
      const pinned = typeof version === 'number' && VERSION.safeParse(version).success ? version : undefined;
      const found = await findSnippet(documents, { name, version: pinned }, documentOwner(owner, common));
      return found === undefined ? undefined : { ...snippetScript(found), isDefault: pinned === undefined };
    },
    execute: async ({ name, version, input }, context): Promise<SavedScriptCall> => {
      const linked = context.savedScripts?.linked.find(
        (one) => one.name === name && (version === undefined ? one.isDefault === true : one.version === version),
      );
      if (linked !== undefined) return savedCall(linked, checkInput(linked, input));
      const exists = await findSnippet(documents, { name, version }, documentOwner(context, common));
      throw exists === undefined ? missingSnippet({ name, version }) : unlinkedSnippetError(name);
    },
  });
  return withResults(tool);
}

function getTool(library: SnippetLibrary): Tool {
  return defineTool({
    name: 'snippets.get',
    description: 'Returns the source of a saved script and the schemas of its input and result.',
    input: z.object({ name: SnippetName, version: VERSION.optional(), scope: ScopeSchema.optional() }),
    output: z.object({
      name: z.string(),
      scope: ScopeSchema,
      version: VERSION,
      description: z.string(),
      source: z.string(),
      input: JsonSchema,
      output: JsonSchema.optional(),
    }),
    approval: 'never',
    effect: 'read',
    execute: (reference, context) => readSnippet(library, reference, context),
  });
}

function listTool(library: SnippetLibrary): Tool {
  return defineTool({
    name: 'snippets.list',
    description: 'Lists the saved scripts that snippets.run finds, with the JSON Schemas of their inputs.',
    input: z.object({
      prefix: z
        .string()
        .max(64)
        .optional()
        .describe('Lists only snippets whose names have this prefix. Default: all snippets.'),
    }),
    output: z.array(
      z.object({
        name: z.string(),
        scope: ScopeSchema,
        version: VERSION,
        description: z.string(),
        input: JsonSchema,
        output: JsonSchema.optional(),
      }),
    ),
    approval: 'never',
    effect: 'read',
    execute: ({ prefix }, context) => listSnippets(library, context, prefix),
  });
}

function deleteTool({ documents, ...common }: SnippetLibrary): Tool {
  const documentPlace = (
    { name, scope: kind = 'thread' }: { name: string; scope?: ScopeName | undefined },
    call: Omit<DocumentOwner, 'workspace'>,
  ): DocumentPlace => ({ scope: demandScope(documentOwner(call, common), kind), kind: 'snippet', name });
  return defineTool({
    name: 'snippets.delete',
    description: 'Deletes all versions of a saved script. Scripts that have already started keep it.',
    input: z.object({ name: SnippetName, scope: ScopeSchema.optional(), ifVersion: DeletedVersion }),
    output: z.object({ deleted: z.boolean() }),
    effect: 'write',
    idempotent: true,
    pin: (input, call) => pinDeletion(documents, documentPlace(input, call), input),
    preview: (input, call) => deletionPreview(documents, { ...documentPlace(input, call), ifVersion: input.ifVersion }),
    execute: (input, context) =>
      deleteOnce(documents, { ...documentPlace(input, context), ifVersion: input.ifVersion }, context),
  });
}
