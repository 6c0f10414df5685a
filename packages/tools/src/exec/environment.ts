import { delimiter, isAbsolute } from 'node:path';
import { failure } from '../failure.js';

/** Variables that a program needs for its usual behaviour. None of them contains a secret. */
const PASSED_ON = new Set([
  'PATH',
  'HOME',
  'LANG',
  'LANGUAGE',
  'TERM',
  'TMPDIR',
  'USER',
  'LOGNAME',
  'SHELL',
  'TZ',
  // Programs on Windows need these variables.
  'SYSTEMROOT',
  'COMSPEC',
  'PATHEXT',
  'TEMP',
  'TMP',
  'USERPROFILE',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMFILES',
]);
const LOCALE = /^LC_[A-Z]+$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The environment of a child process: allowed variables of the host (and those in `alsoPassed`), then `added`. Throws a
 * ToolCallError for invalid names and values.
 */
export function childEnvironment(
  host: NodeJS.ProcessEnv,
  added: Readonly<Record<string, string>>,
  alsoPassed: readonly string[] = [],
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(host)) {
    const upper = name.toUpperCase();
    // defence: only-known-variables
    if (value !== undefined && (PASSED_ON.has(upper) || LOCALE.test(upper) || alsoPassed.includes(name)))
      environment[name] = upper === 'PATH' ? absoluteFolders(value) : value;
  }
  for (const [name, value] of Object.entries(added)) {
    if (!NAME.test(name))
      throw failure(
        'not_started',
        `'${name}' cannot be the name of an environment variable. Use letters, digits and "_", and no digit first.`,
      );
    if (value.includes('\0'))
      throw failure('not_started', `The value of the environment variable ${name} contains a NUL byte. Remove it.`);
    environment[name] = value;
  }
  return environment;
}

/** The absolute folders of a PATH. With a relative folder, the workspace could decide which program a name means. */
function absoluteFolders(path: string): string {
  // defence: children-get-no-relative-folders
  return path.split(delimiter).filter(isAbsolute).join(delimiter);
}
