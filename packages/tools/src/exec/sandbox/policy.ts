import { existsSync, readdirSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, sep } from 'node:path';
import type { Workspace } from '../../files/workspace.js';

/** What a sandboxed command may reach of the disk. Absolute paths; what is not named may be read, not written. */
export interface SandboxedDisk {
  readonly denyRead: readonly string[];
  /** Exceptions to `denyRead`. */
  readonly allowRead: readonly string[];
  readonly allowWrite: readonly string[];
  /** Exceptions to `allowWrite`, beside what is protected by its name. */
  readonly denyWrite: readonly string[];
  /** Paths where a command may make nothing. */
  readonly absent: readonly string[];
  /** As `denyRead`, for paths that the sandbox's package would take for patterns. */
  readonly hidden: readonly string[];
  /** Protected names that may be written all the same. */
  readonly unprotected: readonly string[];
}

/** Files and folders below a home that hold keys, tokens, cookies or what was typed. */
const HOME_SECRETS = [
  // Keys and logins of programs.
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.oci',
  '.fly',
  '.terraform.d',
  '.vault-token',
  '.password-store',
  '.netrc',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.pypirc',
  '.pgpass',
  '.my.cnf',
  '.git-credentials',
  '.boto',
  '.s3cfg',
  '.m2/settings.xml',
  '.m2/settings-security.xml',
  '.gradle/gradle.properties',
  '.gem/credentials',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.nuget/NuGet',
  '.composer/auth.json',
  '.bundle/config',
  // Settings and memories of programs; git's own settings are an exception below.
  '.config',
  '.local/share/keyrings',
  '.local/share/kwalletd',
  '.local/share/atuin',
  '.local/share/fish',
  '.local/state',
  // Agents, and this program's own keys, journals and rules.
  '.toolscript',
  '.local/share/toolscript',
  '.claude',
  '.claude.json',
  '.codex',
  '.gemini',
  '.cursor',
  '.continue',
  '.aider.conf.yml',
  // Browsers and mail.
  '.mozilla',
  '.thunderbird',
  '.cache/mozilla',
  '.cache/google-chrome',
  '.cache/chromium',
  'snap',
  '.var/app',
  'Library/Keychains',
  'Library/Cookies',
  'Library/Safari',
  'Library/Mail',
  'Library/Messages',
  'Library/Application Support/Google',
  'Library/Application Support/Firefox',
  'Library/Application Support/Chromium',
  'Library/Application Support/BraveSoftware',
  'Library/Application Support/Microsoft Edge',
  'Library/Application Support/toolscript',
  // Logs that the sandbox's own package would open for writing.
  '.npm/_logs',
];
const HOME_EXCEPTIONS = ['.config/git/config', '.config/git/ignore', '.config/git/attributes'];
/** Histories of shells, interpreters and pagers: `.bash_history`, `.node_repl_history`, `.lesshst`. */
const HISTORY = /^\.(?:.*history|lesshst|viminfo|histfile|zsh_sessions)$/;
/** Variables of the host that say where its programs keep keys. */
const POINTERS = [
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_CONFIG_FILE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'KUBECONFIG',
  'DOCKER_CONFIG',
  'NPM_CONFIG_USERCONFIG',
  'npm_config_userconfig',
  'NETRC',
  'GNUPGHOME',
  'HISTFILE',
  'PGPASSFILE',
];
const SYSTEM_SECRETS = ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/sudoers.d'];
/** On Linux each command gets empty ones of its own in their place. */
const TEMPORARY_FOLDERS = ['/tmp', '/var/tmp'];

/** What the rules say at this moment; made anew for each command, because files come and go. */
export function sandboxedDisk(
  workspace: Workspace,
  environment: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): SandboxedDisk {
  const roots = workspace.roots.map(({ realPath }) => realPath);
  const writable = workspace.roots.filter(({ access }) => access === 'write').map(({ realPath }) => realPath);
  const homes = homesOf(environment);
  const hidden = [
    ...homes.flatMap(homeSecrets),
    ...pointedAt(environment),
    ...SYSTEM_SECRETS,
    ...(platform === 'linux' ? TEMPORARY_FOLDERS : []),
  ];
  return {
    denyRead: hidden.filter((path) => existsSync(path) && !roots.includes(path)),
    allowRead: [
      ...roots,
      ...homes.flatMap((home) => HOME_EXCEPTIONS.map((name) => join(home, name))).filter((path) => existsSync(path)),
    ],
    allowWrite: writable,
    // defence: program-read-only-in-sandbox, without it: denyWrite: [],
    denyWrite: workspace.product.present,
    absent: workspace.product.absent,
    hidden: [],
    unprotected: [...workspace.unprotected],
  };
}

/** The folders that count as home: what the environment says, and what the system does; a user may have neither. */
function homesOf(environment: NodeJS.ProcessEnv): string[] {
  const homes = [environment['HOME'], ...[homedir, () => userInfo().homedir].map(orUndefined)];
  return [...new Set(homes)].filter((home) => home !== undefined && isAbsolute(home) && home !== sep) as string[];
}

/** A user without an entry in the system's list has no home, and asking for it throws. */
function orUndefined(ask: () => string): string | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

/** Whether the sandbox's package takes a path for a pattern. */
export function hasPattern(path: string): boolean {
  return /[*?[\]]/.test(path);
}

function homeSecrets(home: string): string[] {
  return [...HOME_SECRETS, ...histories(home)].map((name) => join(home, name));
}

function histories(home: string): string[] {
  try {
    return readdirSync(home).filter((name) => HISTORY.test(name));
  } catch {
    return [];
  }
}

function pointedAt(environment: NodeJS.ProcessEnv): string[] {
  const own = [environment['XDG_CONFIG_HOME'], environment['XDG_DATA_HOME']].filter((folder) => folder !== undefined);
  const named = POINTERS.flatMap((name) => (environment[name] ?? '').split(':'));
  return [...named, ...own.map((folder) => join(folder, 'toolscript'))].filter(isAbsolute);
}
