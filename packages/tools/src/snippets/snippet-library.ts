import { defineTool } from '@toolscript/core';
import {
  isRecord,
  savedScriptId,
  type SavedResult,
  type SavedScript,
  type SavedScriptCall,
} from '@toolscript/core/internal';
import {
  ToolscriptUsageError,
  type DocumentStore,
  type JsonObject,
  type Tool,
  type ToolCallContext,
} from '@toolscript/core/protocol';
import type { DocumentInfo, StoredDocument } from '@toolscript/core/ports';
import { awaitStore } from '../cabinet/documents.js';
import {
  demandScope,
  documentOwner,
  SCOPES,
  ownerScope,
  type CommonOwner,
  type DocumentOwner,
  type ScopeName,
} from '../documents/scopes.js';
import { listDocuments } from '../documents/list-documents.js';
import { failure } from '../failure.js';
import { snippetAbout, snippetScript } from './snippet-shapes.js';

/** The store and the scopes of saved scripts. */
export interface SnippetLibrary extends CommonOwner {
  readonly documents: DocumentStore;
}

export interface SnippetReference {
  readonly name: string;
  /** The version. Default: the newest one. */
  readonly version?: number | undefined;
  /** The scope. Default: the narrowest scope that has a snippet with the name. */
  readonly scope?: ScopeName | undefined;
}

/** A saved script without its source. */
export interface SnippetInfo {
  readonly name: string;
  readonly scope: ScopeName;
  readonly version: number;
  readonly description: string;
  readonly input: JsonObject;
  readonly output?: JsonObject | undefined;
}

/** The newest versions of all snippets of an owner, starting with the narrowest scope. */
export async function listSnippets(
  { documents, ...common }: SnippetLibrary,
  owner: Omit<DocumentOwner, 'workspace'>,
  prefix = '',
): Promise<SnippetInfo[]> {
  const scopes = SCOPES.flatMap((kind) => ownerScope(documentOwner(owner, common), kind) ?? []);
  const lists = await Promise.all(scopes.map((scope) => listDocuments(documents, { scope, kind: 'snippet', prefix })));
  return lists.flat().map(snippetInfo);
}

/** One snippet with its source. Rejects with a `ToolCallError` if no snippet has the name. */
export async function readSnippet(
  { documents, ...common }: SnippetLibrary,
  reference: SnippetReference,
  owner: Omit<DocumentOwner, 'workspace'>,
): Promise<SnippetInfo & { readonly source: string }> {
  const found = await findSnippet(documents, reference, documentOwner(owner, common));
  if (found === undefined) throw missingSnippet(reference);
  return { ...snippetInfo(found), source: found.text };
}

function snippetInfo(info: DocumentInfo): SnippetInfo {
  return { name: info.name, scope: info.scope.kind, version: info.version, ...snippetAbout(info) };
}

export function missingSnippet({ name, version }: SnippetReference) {
  const what = version === undefined ? `snippet "${name}"` : `version ${version} of the snippet "${name}"`;
  return failure('missing', `There is no ${what}. Call tools.snippets.list({}) to see the snippets.`);
}

/** The stored snippet. Undefined if no scope has it. */
export async function findSnippet(
  documents: DocumentStore,
  { name, version, scope }: SnippetReference,
  owner: DocumentOwner,
): Promise<StoredDocument | undefined> {
  const scopes =
    scope === undefined ? SCOPES.flatMap((kind) => ownerScope(owner, kind) ?? []) : [demandScope(owner, scope)];
  for (const one of scopes) {
    const found = await awaitStore(documents.read({ scope: one, kind: 'snippet', name }, version));
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The newest versions of all snippets of an owner as tools, `snippets.NAME`, with exact declarations. Pass the tools to
 * `harness.tools.replace` before a turn. If two snippets have the same name, the tool runs the snippet of the narrower
 * scope.
 */
export async function loadSnippetTools(
  { documents, ...common }: SnippetLibrary,
  owner: Omit<DocumentOwner, 'workspace'>,
): Promise<Tool[]> {
  const found = new Map<string, Tool>();
  for (const kind of SCOPES) {
    const scope = ownerScope(documentOwner(owner, common), kind);
    if (scope === undefined) continue;
    for (const { name, version } of await listDocuments(documents, { scope, kind: 'snippet' })) {
      if (found.has(name)) continue;
      // The result is undefined if the snippet was deleted after it was listed.
      const snippet = await awaitStore(documents.read({ scope, kind: 'snippet', name }, version));
      if (snippet !== undefined) found.set(name, snippetTool(snippet));
    }
  }
  return [...found.values()];
}

function snippetTool(snippet: StoredDocument): Tool {
  const saved = snippetScript(snippet);
  const tool = defineTool({
    name: `snippets.${saved.name}`,
    description: snippetAbout(snippet).description,
    inputSchema: saved.input,
    ...(saved.output === undefined ? {} : { outputSchema: saved.output }),
    approval: 'never',
    effect: 'read',
    savedScript: () => saved,
    execute: (input, { savedScripts }): SavedScriptCall => {
      const linked = savedScripts?.linked.find((one) => savedScriptId(one) === savedScriptId(saved));
      if (linked === undefined) throw unlinkedSnippetError(saved.name);
      return savedCall(linked, input);
    },
  });
  // The schema declares what the script returns; the tool itself returns a `SavedScriptCall`.
  return withResults({ ...tool, validateOutput: (value: unknown) => ({ ok: true, value }) as never });
}

export function savedCall(linked: SavedScript, input: unknown): SavedScriptCall {
  return { script: savedScriptId(linked), input, ...(linked.output === undefined ? {} : { checksResult: true }) };
}

/** The tool with a wider input: it also accepts and checks the results of the scripts that it runs. */
export function withResults(tool: Tool): Tool {
  return Object.freeze({
    ...tool,
    validateInput: (input: unknown) =>
      isSavedResult(input) ? { ok: true as const, value: input as never } : tool.validateInput(input),
    execute: (input: never, context: ToolCallContext) =>
      isSavedResult(input) ? { value: checkResult(input, context) } : tool.execute(input, context),
  });
}

function isSavedResult(input: unknown): input is SavedResult {
  return isRecord(input) && typeof input['script'] === 'string' && Object.keys(input).join() === 'savedResult,script';
}

function checkResult({ savedResult, script }: SavedResult, { savedScripts }: ToolCallContext): unknown {
  const linked = savedScripts?.linked.find((one) => savedScriptId(one) === script);
  if (linked?.output === undefined)
    throw failure('missing', `This script runs no snippet "${script}". Call the snippet with tools.snippets.run.`);
  const checked = openTool({ inputSchema: { type: 'object' }, outputSchema: linked.output }).validateOutput(
    savedResult,
  );
  if (checked.ok) return checked.value;
  const issues = checked.issues.map(({ path, message }) => `${path.replace(/^args/u, 'result')}: ${message}`);
  throw failure(
    'bad_result',
    `The result of the snippet "${linked.name}" does not match its output schema. ${issues.join('; ')}. Save a corrected version.`,
  );
}

/** The checked input, with the defaults of the schema. Throws a failure that names every fault. */
export function checkInput({ name, input: schema }: SavedScript, input: unknown): unknown {
  const checked = inputValidator(schema)(input ?? {});
  if (checked.ok) return checked.value;
  const issues = checked.issues.map(({ path, message }) => `${path.replace(/^args/u, 'input')}: ${message}`);
  throw failure(
    'bad_variables',
    `The input of the snippet "${name}" does not match its schema. ${issues.join('; ')}. Correct the input.`,
  );
}

/** Throws a failure for a schema that no tool could have. */
export function checkSchemas(input: JsonObject, output: JsonObject | undefined): void {
  if (input['type'] !== 'object' || (input['properties'] !== undefined && !isRecord(input['properties'])))
    throw failure(
      'bad_schema',
      'The schema of the input does not describe an object. Write { "type": "object", "properties": { … } }.',
    );
  inputValidator(input);
  if (output !== undefined) openTool({ inputSchema: { type: 'object' }, outputSchema: output });
}

function inputValidator(inputSchema: JsonObject): Tool['validateInput'] {
  return openTool({ inputSchema }).validateInput;
}

function openTool(schemas: { inputSchema: JsonObject; outputSchema?: JsonObject | undefined }): Tool {
  try {
    return defineTool({ name: 'snippet', description: '', ...schemas, execute: () => undefined });
  } catch (error) {
    if (!(error instanceof ToolscriptUsageError)) throw error;
    throw failure('bad_schema', error.message.replace(/ of the tool "snippet"/u, ' of the snippet'));
  }
}

export function unlinkedSnippetError(name: string) {
  return failure(
    'not_linked',
    `The snippet "${name}" was not found when this script started, so this script cannot run it. Write its name as a literal in the script: await tools.snippets.run({ name: ${JSON.stringify(name)}, input: { … } }).`,
  );
}
