import type { DocumentStore, JsonObject } from '@toolscript/core/protocol';
import type { StoredDocument } from '@toolscript/core/ports';
import { awaitStore } from '../cabinet/documents.js';
import { failure } from '../failure.js';
import {
  demandScope,
  documentOwner,
  SCOPES,
  ownerScope,
  type CommonOwner,
  type DocumentOwner,
  type ScopeName,
} from '../documents/scopes.js';
import type { PromptFile } from './prompt-files.js';
import { fillTemplate, parseTemplate } from './template.js';
import { readVariables } from './variables.js';

/** The sources of prompts. */
export interface PromptLibrary extends CommonOwner {
  /** The store of saved prompts. Undefined: only prompts from files exist. */
  readonly documents?: DocumentStore | undefined;
  /** Read-only prompts, from `readPromptFolder`. */
  readonly files?: readonly PromptFile[] | undefined;
}

export interface PromptReference {
  readonly name: string;
  /** The version. Default: the newest one. A file has no versions. */
  readonly version?: number | undefined;
  /** The scope. Default: the narrowest scope that has a prompt with the name. */
  readonly scope?: ScopeName | 'file' | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

export interface LoadedPrompt {
  readonly name: string;
  /** The text with its variables filled in. */
  readonly text: string;
  readonly scope: ScopeName | 'file';
  /** Absent for a prompt from a file. */
  readonly version?: number | undefined;
}

/**
 * Finds a prompt and fills in its variables: for hosts, and for `prompts.get`. Rejects with a `ToolCallError` if no
 * prompt has the name, if both a file and a stored prompt have it and no scope is given, and for wrong variables.
 */
export async function loadPrompt(
  library: PromptLibrary,
  { name, version, scope, variables = {} }: PromptReference,
  owner: Omit<DocumentOwner, 'workspace'>,
): Promise<LoadedPrompt> {
  const found = await findPrompt(library, { name, version, scope }, documentOwner(owner, library));
  const parts = parseTemplate(found.text);
  const text = fillTemplate(parts, readVariables(parts, found.variables).check(name, variables));
  return { name, text, scope: found.scope, ...(found.version === undefined ? {} : { version: found.version }) };
}

type FoundPrompt = Omit<LoadedPrompt, 'name'> & { readonly variables: JsonObject | undefined };

async function findPrompt(
  { documents, files = [] }: PromptLibrary,
  { name, version, scope }: Omit<PromptReference, 'variables'>,
  owner: DocumentOwner,
): Promise<FoundPrompt> {
  const file = files.find((one) => one.name === name);
  const wantsFile = file !== undefined && version === undefined && (scope === undefined || scope === 'file');
  const saved =
    documents === undefined || scope === 'file'
      ? undefined
      : await findStoredPrompt(documents, scopesFor(scope, owner), name, version);
  if (wantsFile && saved !== undefined)
    throw failure(
      'exists',
      `Two prompts have the name "${name}": a file, and a saved one. Name one of them with scope: "file" or scope: "${saved.scope.kind}".`,
    );
  if (wantsFile) return { text: file.text, variables: file.variables, scope: 'file' };
  if (saved === undefined) throw missing(name, version);
  const { text, about } = saved;
  return {
    text,
    variables: about['variables'] as JsonObject | undefined,
    scope: saved.scope.kind,
    version: saved.version,
  };
}

function scopesFor(scope: ScopeName | undefined, owner: DocumentOwner) {
  if (scope !== undefined) return [demandScope(owner, scope)];
  return SCOPES.flatMap((kind) => ownerScope(owner, kind) ?? []);
}

async function findStoredPrompt(
  documents: DocumentStore,
  scopes: ReturnType<typeof scopesFor>,
  name: string,
  version: number | undefined,
): Promise<StoredDocument | undefined> {
  for (const scope of scopes) {
    const found = await awaitStore(documents.read({ scope, kind: 'prompt', name }, version));
    if (found !== undefined) return found;
  }
  return undefined;
}

function missing(name: string, version: number | undefined) {
  const what = version === undefined ? `prompt "${name}"` : `version ${version} of the prompt "${name}"`;
  return failure('missing', `There is no ${what}. Call tools.prompts.list({}) to see the prompts.`);
}
