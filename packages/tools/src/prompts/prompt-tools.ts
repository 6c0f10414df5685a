import { defineTool } from '@toolscript/core';
import { previewText } from '@toolscript/core/internal';
import type { DocumentInfo } from '@toolscript/core/ports';
import type { DocumentPlace, DocumentStore, JsonObject, Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import {
  demandScope,
  documentOwner,
  SCOPES,
  ScopeSchema,
  ownerScope,
  type DocumentOwner,
  type ScopeName,
} from '../documents/scopes.js';
import { documentChange } from '../cabinet/file-keys.js';
import { awaitStore } from '../cabinet/documents.js';
import { DeletedVersion, deleteOnce, pinDeletion } from '../documents/deletions.js';
import { deletionPreview } from '../documents/deletion-preview.js';
import { listDocuments } from '../documents/list-documents.js';
import { failure } from '../failure.js';
import { loadPrompt, type PromptLibrary } from './prompt-library.js';
import { NAME } from './prompt-shapes.js';
import { parseTemplate, templateVariables } from './template.js';
import { readVariables } from './variables.js';

const VERSION = z.number().int().min(1);
const AnyScope = z.enum(['thread', 'principal', 'workspace', 'file']);

/** The tools prompts.get and prompts.list; with `documents` also prompts.save and prompts.delete. */
export function promptTools(library: PromptLibrary): Tool[] {
  const { documents } = library;
  const readers = [getTool(library), listTool(library)];
  return documents === undefined ? readers : [saveTool(library, documents), ...readers, deleteTool(library, documents)];
}

function saveTool({ files = [], ...common }: PromptLibrary, documents: DocumentStore): Tool {
  return defineTool({
    name: 'prompts.save',
    description:
      'Saves a prompt under a name, as its next version. {{name}} marks a variable of the text; {{{{ stands for two braces.',
    input: z.object({
      name: NAME,
      text: z.string().min(1).max(1_000_000),
      variables: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('JSON Schema of an object. Default: each variable of the text is required.'),
      description: z.string().max(1_000).optional(),
      scope: ScopeSchema.optional(),
    }),
    output: z.object({ name: z.string(), scope: ScopeSchema, version: VERSION, variables: z.array(z.string()) }),
    effect: 'write',
    idempotent: true,
    preview: ({ name, scope = 'thread', text, variables, description }) =>
      previewText({
        title: `Save the prompt "${name}" (${scope})`,
        facts: { Variables: variables && JSON.stringify(variables) },
        texts: { Text: text },
        notes: { Description: description },
      }),
    execute: async ({ name, text, variables, description, scope: kind = 'thread' }, context) => {
      if (files.some((file) => file.name === name))
        throw failure('read_only', `A file has the prompt "${name}", which scripts cannot change. Use another name.`);
      const scope = demandScope(documentOwner(context, common), kind);
      const parts = parseTemplate(text);
      readVariables(parts, variables as JsonObject | undefined);
      const about = {
        names: templateVariables(parts),
        ...(variables === undefined ? {} : { variables }),
        ...(description === undefined ? {} : { description }),
      };
      const draft = { scope, kind: 'prompt', name, text, about, ...documentChange(context) } as const;
      const saved = await awaitStore(documents.save(draft));
      return { name, scope: kind, version: saved.version, variables: about.names };
    },
  });
}

function getTool(library: PromptLibrary): Tool {
  return defineTool({
    name: 'prompts.get',
    description: 'Returns the text of a prompt with its variables filled in.',
    input: z.object({
      name: NAME,
      version: VERSION.optional().describe('Default: the newest one.'),
      scope: AnyScope.optional().describe('Default: the narrowest scope that has the name.'),
      variables: z.record(z.string(), z.unknown()).optional(),
    }),
    output: z.object({ name: z.string(), text: z.string(), scope: AnyScope, version: VERSION.optional() }),
    approval: 'never',
    effect: 'read',
    execute: (reference, context) => loadPrompt(library, reference, context),
  });
}

function listTool({ documents, files = [], ...common }: PromptLibrary): Tool {
  return defineTool({
    name: 'prompts.list',
    description: 'Lists the prompts that prompts.get finds.',
    input: z.object({
      prefix: z
        .string()
        .max(128)
        .optional()
        .describe('Lists only prompts whose names have this prefix. Default: all prompts.'),
    }),
    output: z.array(
      z.object({
        name: z.string(),
        scope: AnyScope,
        version: VERSION.optional(),
        description: z.string().optional(),
        variables: z.array(z.string()),
      }),
    ),
    approval: 'never',
    effect: 'read',
    execute: async ({ prefix = '' }, context) => [
      ...files
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ name, text, description }) => ({
          name,
          scope: 'file' as const,
          ...(description === undefined ? {} : { description }),
          variables: templateVariables(parseTemplate(text)),
        })),
      ...(documents === undefined ? [] : await listStoredPrompts(documents, documentOwner(context, common), prefix)),
    ],
  });
}

async function listStoredPrompts(documents: DocumentStore, owner: DocumentOwner, prefix: string) {
  const scopes = SCOPES.flatMap((kind) => ownerScope(owner, kind) ?? []);
  const lists = await Promise.all(scopes.map((scope) => listDocuments(documents, { scope, kind: 'prompt', prefix })));
  return lists.flat().map(listedPrompt);
}

function listedPrompt({ name, scope, version, about }: DocumentInfo) {
  const { description, names } = about as { description?: string | undefined; names: string[] };
  return { name, scope: scope.kind, version, ...(description === undefined ? {} : { description }), variables: names };
}

function deleteTool(common: PromptLibrary, documents: DocumentStore): Tool {
  const documentPlace = (
    { name, scope: kind = 'thread' }: { name: string; scope?: ScopeName | undefined },
    call: Omit<DocumentOwner, 'workspace'>,
  ): DocumentPlace => ({ scope: demandScope(documentOwner(call, common), kind), kind: 'prompt', name });
  return defineTool({
    name: 'prompts.delete',
    description: 'Deletes all versions of a saved prompt.',
    input: z.object({ name: NAME, scope: ScopeSchema.optional(), ifVersion: DeletedVersion }),
    output: z.object({ deleted: z.boolean() }),
    effect: 'write',
    idempotent: true,
    pin: (input, call) => pinDeletion(documents, documentPlace(input, call), input),
    preview: (input, call) => deletionPreview(documents, { ...documentPlace(input, call), ifVersion: input.ifVersion }),
    execute: (input, context) =>
      deleteOnce(documents, { ...documentPlace(input, context), ifVersion: input.ifVersion }, context),
  });
}
