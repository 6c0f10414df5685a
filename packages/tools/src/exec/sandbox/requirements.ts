import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, sep } from 'node:path';

/** The programs that make up the sandbox, by absolute path. */
export interface SandboxPrograms {
  /**
   * The search path for these programs and the shell: the host's PATH and the system's folders, without folders that a
   * command could have written to.
   */
  readonly path: string;
  readonly bubblewrap?: string | undefined;
  readonly socat?: string | undefined;
}

export interface SandboxRefusal {
  /** The reason why the sandbox does not work, in one sentence. */
  readonly reason: string;
  /** The command or setting that makes the sandbox work, or that turns it off. */
  readonly fix: string;
}

const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
const INSTALLERS: readonly (readonly [string, string])[] = [
  ['apt-get', 'sudo apt-get install -y bubblewrap socat'],
  ['dnf', 'sudo dnf install -y bubblewrap socat'],
  ['pacman', 'sudo pacman -S --needed bubblewrap socat'],
  ['zypper', 'sudo zypper install -y bubblewrap socat'],
  ['apk', 'sudo apk add bubblewrap socat'],
];
const OPT_OUT = "To run commands without a sandbox, set exec.sandbox to 'off'.";

/**
 * The programs, or the reason why the sandbox does not work. Ignores programs inside `roots`, because a command could
 * have written them.
 */
export function findSandbox(
  roots: readonly string[],
  {
    path = process.env['PATH'] ?? '',
    platform = process.platform,
    systemFolders = SYSTEM_FOLDERS,
  }: {
    path?: string | undefined;
    platform?: NodeJS.Platform | undefined;
    systemFolders?: readonly string[] | undefined;
  } = {},
): SandboxPrograms | SandboxRefusal {
  // defence: no-folder-of-the-workspace-for-the-sandbox
  const folders = [...new Set([...path.split(delimiter), ...systemFolders])].filter((folder) =>
    isOutside(folder, roots),
  );
  const trusted = folders.join(delimiter);
  if (platform === 'darwin') return { path: trusted };
  if (platform !== 'linux') return { reason: `The sandbox for commands does not work on ${platform}.`, fix: OPT_OUT };
  const [bubblewrap, socat] = ['bwrap', 'socat'].map((name) => findIn(folders, name, roots));
  if (bubblewrap !== undefined && socat !== undefined) return { path: trusted, bubblewrap, socat };
  if (systemFolders.some((folder) => !isOutside(folder, roots)))
    return {
      reason: 'The sandbox for commands cannot be set up: the folders of its own programs lie in the workspace.',
      fix: `Name a smaller folder as the workspace. ${OPT_OUT}`,
    };
  const missing = [bubblewrap === undefined ? 'bubblewrap' : '', socat === undefined ? 'socat' : ''].filter(Boolean);
  const installer = INSTALLERS.find(([name]) => findIn(folders, name) !== undefined)?.[1];
  return {
    reason: `The sandbox for commands needs programs that are not installed: ${missing.join(' and ')}.`,
    fix: `${installer === undefined ? `Install ${missing.join(' and ')}.` : `Run: ${installer}.`} ${OPT_OUT}`,
  };
}

/**
 * The obstacles that the sandbox's package found. Its warnings are obstacles too, because they reveal security gaps
 * such as unfiltered local sockets.
 */
export function obstacles({ errors, warnings }: { errors: readonly string[]; warnings: readonly string[] }): string[] {
  // defence: warnings-are-refusals
  return [...errors, ...warnings];
}

/** The refusal if the programs exist but the system blocks them. */
export function refusedBySystem(detail: string): SandboxRefusal {
  const [line = ''] = detail.trim().split('\n');
  return {
    reason: `The sandbox for commands cannot be set up here: ${line.replace(/\.$/u, '') || 'it gave no reason'}.`,
    fix:
      'If the system forbids user namespaces for unprivileged programs, allow them: ' +
      'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 ' +
      `(Ubuntu), or sudo sysctl -w kernel.unprivileged_userns_clone=1 (older Debian). ${OPT_OUT}`,
  };
}

/**
 * Whether a path is outside the roots, even after its symbolic links are resolved. A command could have written a
 * program inside a root.
 */
function isOutside(path: string, roots: readonly string[]): boolean {
  if (!isAbsolute(path)) return false;
  // defence: no-program-of-the-sandbox-through-a-link
  const places = [path, realPath(path)];
  return places.every((place) => roots.every((root) => place !== root && !place.startsWith(withSeparator(root))));
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : folder + sep;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The first executable file with the name that is outside `roots`. */
function findIn(folders: readonly string[], name: string, roots: readonly string[] = []): string | undefined {
  return folders.map((folder) => join(folder, name)).find((path) => isProgram(path) && isOutside(path, roots));
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
