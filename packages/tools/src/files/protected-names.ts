/** A name that must not be written, in any spelling, at any depth of a workspace. */
interface ProtectedName {
  /** The name of a file, or of a folder with its content, in lower case. May contain one `/`. */
  readonly name: string;
  readonly reason: string;
}

const STARTUP = 'a shell or a session runs it at startup';
const AGENT = 'it configures coding agents';
const EDITOR = 'an editor runs the tasks and programs in its settings';
const HOOKS = 'git runs the hooks that it contains';
const INTERPRETER = 'an interpreter, a debugger or an editor runs it at startup';
const INSTALLER = 'it tells a package manager what to run and where to fetch from';
const CREDENTIALS = 'it decides who may log in, or with which keys';

/**
 * Files that would give the writer more rights than the workspace itself, because another program executes or obeys
 * them without asking the user. The list does not include ordinary content (sources, `.github`, `AGENTS.md`, `.env`).
 */
export const PROTECTED_NAMES: readonly ProtectedName[] = [
  { name: '.git', reason: 'git runs its hooks and obeys its configuration' },
  { name: '.gitconfig', reason: 'git runs the programs in its settings' },
  { name: '.config/git', reason: 'git runs the programs in its settings' },
  { name: '.husky', reason: HOOKS },
  { name: '.hg/hgrc', reason: 'Mercurial runs the hooks and programs in its settings' },
  { name: '.hg/sharedpath', reason: 'Mercurial reads its configuration from the folder that it names' },
  { name: '.githooks', reason: HOOKS },
  { name: '.bashrc', reason: STARTUP },
  { name: '.bash_profile', reason: STARTUP },
  { name: '.bash_login', reason: STARTUP },
  { name: '.bash_logout', reason: STARTUP },
  { name: '.bash_aliases', reason: STARTUP },
  { name: '.profile', reason: STARTUP },
  { name: '.zshrc', reason: STARTUP },
  { name: '.zshenv', reason: STARTUP },
  { name: '.zprofile', reason: STARTUP },
  { name: '.zlogin', reason: STARTUP },
  { name: '.zlogout', reason: STARTUP },
  { name: '.cshrc', reason: STARTUP },
  { name: '.tcshrc', reason: STARTUP },
  { name: '.kshrc', reason: STARTUP },
  { name: '.login', reason: STARTUP },
  { name: '.xinitrc', reason: STARTUP },
  { name: '.xprofile', reason: STARTUP },
  { name: '.xsession', reason: STARTUP },
  { name: '.pam_environment', reason: STARTUP },
  { name: '.envrc', reason: STARTUP },
  { name: '.direnvrc', reason: STARTUP },
  { name: '.config/direnv', reason: STARTUP },
  { name: '.shrc', reason: STARTUP },
  { name: '.mkshrc', reason: STARTUP },
  { name: '.inputrc', reason: STARTUP },
  { name: '.config/zsh', reason: STARTUP },
  { name: '.config/nushell', reason: STARTUP },
  { name: '.config/powershell', reason: STARTUP },
  { name: '.config/environment.d', reason: STARTUP },
  { name: '.config/fish', reason: STARTUP },
  { name: '.config/autostart', reason: STARTUP },
  { name: '.config/systemd', reason: STARTUP },
  { name: '.vimrc', reason: INTERPRETER },
  { name: '.exrc', reason: INTERPRETER },
  { name: '.nvimrc', reason: INTERPRETER },
  { name: '.nvim.lua', reason: INTERPRETER },
  { name: '.vim', reason: INTERPRETER },
  { name: '.config/nvim', reason: INTERPRETER },
  { name: '.emacs', reason: INTERPRETER },
  { name: '.emacs.d', reason: INTERPRETER },
  { name: '.dir-locals.el', reason: INTERPRETER },
  { name: '.gdbinit', reason: INTERPRETER },
  { name: '.lldbinit', reason: INTERPRETER },
  { name: '.irbrc', reason: INTERPRETER },
  { name: '.pryrc', reason: INTERPRETER },
  { name: '.rprofile', reason: INTERPRETER },
  { name: '.renviron', reason: INTERPRETER },
  { name: '.ghci', reason: INTERPRETER },
  { name: '.tmux.conf', reason: INTERPRETER },
  { name: '.screenrc', reason: INTERPRETER },
  { name: 'toolscript.config.json', reason: AGENT },
  { name: '.toolscript', reason: AGENT },
  { name: '.config/toolscript', reason: AGENT },
  { name: '.claude', reason: AGENT },
  { name: '.codex', reason: AGENT },
  { name: '.agents', reason: AGENT },
  { name: '.cursor', reason: AGENT },
  { name: '.gemini', reason: AGENT },
  { name: 'mcp.json', reason: AGENT },
  { name: '.mcp.json', reason: AGENT },
  { name: '.claude.json', reason: AGENT },
  { name: '.clinerules', reason: AGENT },
  { name: '.roo', reason: AGENT },
  { name: '.continue', reason: AGENT },
  { name: '.windsurf', reason: AGENT },
  { name: '.opencode', reason: AGENT },
  { name: 'opencode.json', reason: AGENT },
  { name: 'opencode.jsonc', reason: AGENT },
  { name: '.kiro', reason: AGENT },
  { name: '.amazonq', reason: AGENT },
  { name: '.qwen', reason: AGENT },
  { name: '.goose', reason: AGENT },
  { name: '.junie', reason: AGENT },
  { name: '.augment', reason: AGENT },
  { name: '.trae', reason: AGENT },
  { name: '.crush', reason: AGENT },
  { name: '.crush.json', reason: AGENT },
  { name: '.factory', reason: AGENT },
  { name: '.aider.conf.yml', reason: AGENT },
  { name: '.vscode', reason: EDITOR },
  { name: '.idea', reason: EDITOR },
  { name: '.zed', reason: EDITOR },
  { name: '.fleet', reason: EDITOR },
  { name: '.vs', reason: EDITOR },
  { name: '.nova', reason: EDITOR },
  { name: '.theia', reason: EDITOR },
  { name: '.devcontainer', reason: EDITOR },
  { name: '.devcontainer.json', reason: EDITOR },
  { name: '.npmrc', reason: INSTALLER },
  { name: '.yarnrc', reason: INSTALLER },
  { name: '.yarnrc.yml', reason: INSTALLER },
  { name: '.pnpmfile.cjs', reason: INSTALLER },
  { name: '.cargo', reason: INSTALLER },
  { name: '.mvn', reason: INSTALLER },
  { name: '.pypirc', reason: INSTALLER },
  { name: '.ssh', reason: CREDENTIALS },
  { name: '.gnupg', reason: CREDENTIALS },
  { name: '.netrc', reason: CREDENTIALS },
];

const REPOSITORY = 'git takes a folder with such a file for a repository';
const REPOSITORY_FILES: readonly ProtectedName[] = [
  { name: 'head', reason: REPOSITORY },
  { name: 'commondir', reason: REPOSITORY },
];

/** Folders in which package managers create hard links. Files below them may be read despite several hard links. */
const PACKAGE_FOLDERS = new Set(['node_modules', 'site-packages']);

/**
 * The rule that a path violates, or undefined. `relativePath` is relative to its root, with `/` between names. The
 * comparison treats names as the most lenient file system would: case, width, invisible characters, trailing dots and
 * spaces, streams (`.git::$DATA`) and short names (`GIT~1`) make no difference.
 */
export function protectedName(relativePath: string, unprotected: ReadonlySet<string>): ProtectedName | undefined {
  const path = `/${relativePath.split('/').map(foldName).join('/')}/`;
  return PROTECTED_NAMES.find(({ name }) => !unprotected.has(name) && path.includes(`/${name}/`));
}

/**
 * The rule that a link violates if its name is the first of the two names of a rule, because the second name may exist
 * in its target; undefined for any other link.
 */
export function protectedLink(name: string, unprotected: ReadonlySet<string>): ProtectedName | undefined {
  const first = `${foldName(name)}/`;
  return PROTECTED_NAMES.find((rule) => rule.name.startsWith(first) && !unprotected.has(rule.name));
}

/**
 * The rule that a file violates if its name can make git treat the file's folder as a repository; undefined for any
 * other file.
 */
export function repositoryFile(relativePath: string, unprotected: ReadonlySet<string>): ProtectedName | undefined {
  const name = foldName(relativePath.slice(relativePath.lastIndexOf('/') + 1));
  return REPOSITORY_FILES.find((rule) => rule.name === name && !unprotected.has('.git'));
}

/** Whether a path is inside a folder of a package manager. */
export function isInPackages(relativePath: string): boolean {
  return relativePath.split('/').some((name) => PACKAGE_FOLDERS.has(name));
}

/** The form to which the most lenient file system would reduce a name. */
export function foldName(name: string): string {
  const folded = name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}|\p{Cc}/gu, '')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/:.*$/s, '')
    .replace(/(?<![. ])[. ]+$/, '');
  return folded === 'git~1' ? '.git' : folded;
}
