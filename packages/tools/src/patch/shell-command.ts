import { createRequire } from 'node:module';
import type * as TreeSitter from '@vscode/tree-sitter-wasm';
import type { Node, Parser } from '@vscode/tree-sitter-wasm';
import { failure } from '../failure.js';
import { plainWord, trimBlank, type PatchText } from './unwrap.js';

/*
 * A patch in the form of the shell command that would apply it:
 *
 *     cd DIR && apply_patch <<'EOF'
 *     …
 *     EOF
 *
 * The command is parsed with bash's grammar (tree-sitter-bash), so that other effects of the command are rejected, and
 * not taken for a part of the patch. Nothing is executed.
 */

const MODULE = '@vscode/tree-sitter-wasm';
const GRAMMAR = `${MODULE}/wasm/tree-sitter-bash.wasm`;
const APPLY = new Set(['apply_patch', 'applypatch']);
const MAX_DEPTH = 10;
/** The only allowed node types in the syntax tree of such a command. */
const ALLOWED = new Set(
  (
    'program redirected_statement list command command_name word string string_content raw_string concatenation ' +
    'heredoc_redirect heredoc_start heredoc_body heredoc_end && << <<- "'
  ).split(' '),
);

let loading: Promise<Parser | undefined> | undefined;

/** Maximum number of characters of a command without its heredoc. A longer command does more than apply a patch. */
const MAX_COMMAND_CHARACTERS = 10_000;
const HEREDOC = /<<(-?)\s*(['"]?)(\w+)\2/;

/**
 * The patch inside a shell command. Undefined if the grammar cannot parse the text, or if the parser is not installed.
 * Throws a ToolCallError for a command that does more than apply one patch.
 */
export async function readShellCommand(text: string): Promise<PatchText | undefined> {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const end = heredocEnd(lines);
  // The parser does not get the heredoc's content: the content is plain text, and parsing it could take seconds.
  const command = end === undefined ? lines : [lines[0]!, 'x', ...lines.slice(end)];
  // defence: command-characters-cap
  if (command.reduce((total, line) => total + line.length + 1, 0) > MAX_COMMAND_CHARACTERS) throw doesMore();
  const found = await readCommand(command.join('\n'));
  if (found === undefined) return undefined;
  const [first, last] = end === undefined ? [found.first, found.last] : [1, end];
  const patch = trimBlank({ lines: lines.slice(first, last), skipped: first });
  return found.directory === undefined ? patch : { ...patch, directory: found.directory };
}

/** The index of the line that ends the heredoc of the first line. */
function heredocEnd(lines: readonly string[]): number | undefined {
  const [, dash, , word] = HEREDOC.exec(lines[0]!.slice(0, MAX_COMMAND_CHARACTERS)) ?? [];
  if (word === undefined) return undefined;
  const end = lines.findIndex((line, at) => at > 0 && (dash === '-' ? line.replace(/^\t+/, '') : line) === word);
  return end === -1 ? undefined : end;
}

/** A heredoc as bash parses it: its first line, the line that ends it, and the folder of `cd`. */
interface FoundHeredoc {
  readonly first: number;
  readonly last: number;
  readonly directory: string | undefined;
}

async function readCommand(text: string): Promise<FoundHeredoc | undefined> {
  loading ??= loadParser();
  const parser = await loading;
  const tree = parser?.parse(text);
  if (!tree) return undefined;
  try {
    return tree.rootNode.hasError ? undefined : heredocIn(tree.rootNode);
  } finally {
    tree.delete();
  }
}

function heredocIn(root: Node): FoundHeredoc {
  const [statement, ...others] = root.namedChildren;
  const commands: Node[] = [];
  if (!statement || others.length > 0 || !isOnlyAllowed(root, commands)) throw doesMore();
  const [body] = root.descendantsOfType('heredoc_body');
  const [end] = root.descendantsOfType('heredoc_end');
  const directory = changedDirectory(
    commands.map((command) => command.namedChildren.map((child) => child?.text ?? '')),
  );
  if (!body || !end) throw doesMore();
  return { first: body.startPosition.row, last: end.startPosition.row, directory };
}

function isOnlyAllowed(node: Node, commands: Node[], depth = 0): boolean {
  if (!ALLOWED.has(node.type) || depth > MAX_DEPTH) return false;
  if (node.type === 'command') commands.push(node);
  // The heredoc's content counts as plain text, even if a shell would expand it.
  if (node.type === 'heredoc_body') return true;
  return node.children.every((child) => child !== null && isOnlyAllowed(child, commands, depth + 1));
}

function changedDirectory(commands: readonly (readonly string[])[]): string | undefined {
  const apply = commands.at(-1);
  if (!apply || apply.length !== 1 || !APPLY.has(apply[0]!)) throw doesMore();
  if (commands.length === 1) return undefined;
  const [name, folder, ...rest] = commands[0]!;
  const directory = folder === undefined ? undefined : plainWord(folder);
  if (commands.length > 2 || name !== 'cd' || directory === undefined || rest.length > 0) throw doesMore();
  return directory;
}

function doesMore(): Error {
  return failure(
    'patch_syntax',
    "The command does more than apply one patch. Give the patch alone, or as: cd DIR && apply_patch <<'EOF' … EOF",
  );
}

/** Loads the parser on first use, because most patches do not need it. */
async function loadParser(): Promise<Parser | undefined> {
  try {
    const require = createRequire(import.meta.url);
    const grammar = require(MODULE) as typeof TreeSitter;
    await grammar.Parser.init();
    return new grammar.Parser().setLanguage(await grammar.Language.load(require.resolve(GRAMMAR)));
  } catch {
    return undefined;
  }
}
