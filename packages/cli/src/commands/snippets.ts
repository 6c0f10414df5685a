import { ToolCallError } from '@toolscript/core/protocol';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import type { ScopeName, SnippetInfo, SnippetLibrary } from '@toolscript/tools';
import { workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { ownCommand } from '../terminal/own-command.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { jsonText, visible, visibleLine } from '../terminal/untrusted.js';
import { ThreadDatabase, throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';

export interface SnippetsFlags {
  cwd?: string | undefined;
  thread?: string | undefined;
  json?: boolean | undefined;
}

export interface SnippetFlags extends SnippetsFlags {
  scope?: ScopeName | undefined;
  /**
   * The version of the saved script. The option is not called `version`, because `--version` is the program's own
   * option.
   */
  saved?: number | undefined;
}

/** Lists the saved scripts of the workspace, of the user, and of the conversation if one is named. */
export async function listSavedScripts(flags: SnippetsFlags): Promise<number> {
  return onSnippets(flags, async ({ library, owner, screen }) => {
    const { listSnippets } = await import('@toolscript/tools');
    const snippets = await throughStore(listSnippets(library, owner));
    if (flags.json === true) return screen.write(`${jsonText(snippets, 2)}\n`);
    if (snippets.length === 0)
      screen.line('There are no saved scripts for this folder; --thread ID shows those of a conversation.');
    for (const snippet of snippets) screen.line(snippetHead(snippet));
  });
}

/** Prints a saved script with the schemas of its input and result. */
export async function showSavedScript(
  name: string,
  { scope, saved: version, ...flags }: SnippetFlags,
): Promise<number> {
  return onSnippets(flags, async ({ library, owner, screen }) => {
    const { readSnippet } = await import('@toolscript/tools');
    const snippet = await throughStore(readSnippet(library, { name, version, scope }, owner));
    if (flags.json === true) return screen.write(`${jsonText(snippet, 2)}\n`);
    screen.line(snippetHead(snippet));
    screen.line(screen.style.dim(`input: ${jsonText(snippet.input)}`));
    if (snippet.output !== undefined) screen.line(screen.style.dim(`result: ${jsonText(snippet.output)}`));
    screen.write(`\n${visible(snippet.source)}\n`);
  });
}

/** Deletes all versions of a saved script. `scope` is required if the name exists in several scopes. */
export async function deleteSavedScript(name: string, { scope, ...flags }: SnippetFlags): Promise<number> {
  return onSnippets(flags, async ({ library, owner, screen }) => {
    const { listSnippets } = await import('@toolscript/tools');
    const all = await throughStore(listSnippets(library, owner));
    const found = all.filter((one) => one.name === name && (scope === undefined || one.scope === scope));
    const [first, second] = found;
    const id =
      first && { thread: owner.threadId, principal: LOCAL_PRINCIPAL, workspace: library.workspace }[first.scope];
    if (first === undefined || id === undefined)
      throw new UsageError(
        `There is no saved script ${visibleLine(name)}. To list the saved scripts: ${ownCommand()} snippets`,
      );
    if (second !== undefined)
      throw new UsageError(
        `The saved script ${name} exists in several scopes. Add --scope ${found.map((one) => one.scope).join(' or --scope ')}.`,
      );
    await throughStore(library.documents.delete({ scope: { kind: first.scope, id }, kind: 'snippet', name }));
    screen.line(`${name} (${first.scope}) is deleted.`);
  });
}

function snippetHead({ name, scope, version, description }: SnippetInfo): string {
  return `${name}  version ${version}, ${scope}  ${visibleLine(description)}`;
}

interface OpenedLibrary {
  readonly library: SnippetLibrary;
  readonly owner: { readonly threadId: string | undefined };
  readonly screen: Screen;
}

async function onSnippets(
  { cwd, thread }: SnippetsFlags,
  act: (opened: OpenedLibrary) => Promise<void>,
): Promise<number> {
  const workspace = await workspaceFolder(cwd);
  const screen = openScreen();
  const database = await ThreadDatabase.open(process.env);
  try {
    const threadId = thread === undefined ? undefined : (await database.find(thread)).threadId;
    const library = { documents: database.stores.documents, workspace, principal: LOCAL_PRINCIPAL };
    await act({ library, owner: { threadId }, screen });
    return EXIT.completed;
  } catch (error) {
    // The message ends with the advice to call a tool, which only a model can do. Users get a command instead.
    if (!(error instanceof ToolCallError)) throw error;
    const message = error.message.replace(/ Call tools\.snippets\.list.*/su, ` To list them: ${ownCommand()} snippets`);
    throw new UsageError(visibleLine(message));
  } finally {
    await database.close();
  }
}
