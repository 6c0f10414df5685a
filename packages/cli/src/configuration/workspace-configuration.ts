import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { visibleLine } from '../terminal/untrusted.js';
import { parseJson, readTextFile } from './json-files.js';
import { WORKSPACE_FILE } from './locations.js';
import { WorkspaceConfigurationSchema, checkConfiguration, type WorkspaceConfiguration } from './schema.js';

/** A workspace's own configuration. */
export interface WorkspaceConfigurationFile {
  readonly path: string;
  readonly configuration: WorkspaceConfiguration;
  /** The SHA-256 of the file's text. */
  readonly sha256: string;
}

/** Reads the file once. Undefined if there is none. Throws a UsageError if it is not valid. */
export async function readWorkspaceConfiguration(workspace: string): Promise<WorkspaceConfigurationFile | undefined> {
  const path = join(workspace, WORKSPACE_FILE);
  const text = await readTextFile(path);
  if (text === undefined) return undefined;
  const configuration = checkConfiguration(WorkspaceConfigurationSchema, parseJson(text, path), visibleLine(path));
  return { path, configuration, sha256: createHash('sha256').update(text).digest('hex') };
}
