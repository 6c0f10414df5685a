import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolscriptUsageError } from '@toolscript/core';
import { isolatedVmInstall, readKeyFile } from '@toolscript/core/internal';
import { dataFolder, type DataFolder } from '../configuration/locations.js';
import { plainSettings, type Settings } from '../configuration/settings.js';
import { openEngines, startEngines } from '../harness/engines.js';
import { openHarness, type OpenHarness } from '../harness/open-harness.js';
import { wantsColour, type Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { programVersion } from './programs.js';

/**
 * One finding. `fix` says how to correct the problem; undefined if there is no problem, or no known way to correct it.
 */
export interface Check {
  name: string;
  status: 'ok' | 'warning' | 'missing';
  detail: string;
  fix?: string | undefined;
}

const OLDEST_NODE = [20, 19] as const;

/**
 * Checks Node.js, the platform, the components, git, the terminal and the stored data. A part with the status `missing`
 * is required; a part with the status `warning` is not. Never rejects.
 */
export async function checkMachine(environment: Environment): Promise<Check[]> {
  const [working, git] = await Promise.all([checkWorking(), checkGit()]);
  return [checkNode(), checkPlatform(), ...working, git, checkTerminal(environment), ...checkData(environment)];
}

function checkNode(): Check {
  const version = process.versions.node;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isRecent = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  if (isRecent) return { name: 'node', status: 'ok', detail: version };
  return { name: 'node', status: 'missing', detail: version, fix: `Install Node ${OLDEST_NODE.join('.')} or newer.` };
}

/** The locations of suspended scripts, of the key that seals them, and of the audit log. */
function checkData(environment: Environment): Check[] {
  let folder: DataFolder;
  try {
    folder = dataFolder(environment);
  } catch (error) {
    return [{ name: 'stored scripts', status: 'missing', detail: errorMessage(error) }];
  }
  const { scriptsFolder, keyFile, auditFile } = folder;
  return [
    { name: 'stored scripts', status: 'ok', detail: existing(scriptsFolder) },
    checkKey(keyFile),
    { name: 'audit log', status: 'ok', detail: existing(auditFile) },
  ];
}

function checkKey(keyFile: string): Check {
  const name = 'suspension key';
  try {
    readKeyFile(keyFile, { name: visibleLine(keyFile) });
    return { name, status: 'ok', detail: existing(keyFile) };
  } catch (error) {
    return { name, status: 'missing', detail: errorMessage(error) };
  }
}

function existing(path: string): string {
  return existsSync(path) ? path : `${path} (created on first use)`;
}

function checkPlatform(): Check {
  return { name: 'platform', status: 'ok', detail: `${process.platform} ${process.arch}` };
}

/**
 * Runs the real components on a temporary folder: the compiler, the type checker, the sandboxes and the search program.
 * Also checks how open files are verified.
 */
async function checkWorking(): Promise<Check[]> {
  let folder: string | undefined;
  let open: OpenHarness | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), 'toolscript-doctor-'));
    open = await openHarness(plainSettings(folder), { approvals: 'deny', engines: startEngines() });
    return [
      await checkCompiler(open),
      await checkTypes(open),
      await checkSandbox(open, 'sandbox'),
      await checkIsolatedVm(folder),
      await checkSearch(open, folder),
      await checkFiles(),
    ];
  } catch (error) {
    return [{ name: 'program', status: 'missing', detail: errorMessage(error), fix: REINSTALL }];
  } finally {
    await open?.harness.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

const REINSTALL =
  'Install Toolscript again with its optional dependencies: npm install --global --include=optional toolscript';

async function checkCompiler({ harness }: OpenHarness): Promise<Check> {
  const started = performance.now();
  const outcome = await harness.runScript('enum Answer { yes = 1 }\nreturn Answer.yes satisfies number;', {
    mode: 'dry-run',
  });
  if (outcome.status === 'completed')
    return { name: 'compiler', status: 'ok', detail: `compiled a script in ${elapsedText(started)}` };
  return {
    name: 'compiler',
    status: 'missing',
    detail: outcome.status === 'failed' ? outcome.error.message : outcome.status,
    fix: REINSTALL,
  };
}

/** Checks that the type checker rejects a script that only it can reject. */
async function checkTypes({ harness }: OpenHarness): Promise<Check> {
  const started = performance.now();
  const outcome = await harness.runScript('return tools.listDir({ path: 1 });', { mode: 'dry-run' });
  if (outcome.status === 'failed' && outcome.error.code === 'ScriptTypeError')
    return { name: 'types', status: 'ok', detail: `rejected a wrong call in ${elapsedText(started)}` };
  const { reason } = harness.stats().typecheck;
  return {
    name: 'types',
    status: 'warning',
    detail: `scripts run without type checks${reason === undefined ? '' : `: ${reason}`}`,
    fix: REINSTALL,
  };
}

async function checkSandbox({ harness }: OpenHarness, name: string): Promise<Check> {
  const started = performance.now();
  const outcome = await harness.runScript('return 1+1');
  if (outcome.status === 'completed' && outcome.value === 2)
    return {
      name,
      status: 'ok',
      detail: `${outcome.metadata.runtime}: ran a script in ${elapsedText(started)}`,
    };
  return {
    name,
    status: 'missing',
    detail: outcome.status === 'failed' ? outcome.error.message : 'the script returned a wrong value',
    fix: REINSTALL,
  };
}

/** Checks the optional second sandbox. Returns a warning only if this sandbox is installed and does not work. */
async function checkIsolatedVm(folder: string): Promise<Check> {
  const name = 'isolated-vm';
  const settings: Settings = { ...plainSettings(folder), runtime: 'isolated-vm' };
  const fix = `Install it for this Node.js: ${isolatedVmInstall()}`;
  let open: OpenHarness;
  try {
    open = await openHarness(settings, { approvals: 'deny', engines: openEngines() });
  } catch (error) {
    if ((error as Partial<ToolscriptUsageError>).code === 'RUNTIME_NOT_INSTALLED')
      return { name, status: 'ok', detail: `optional. ${errorMessage(error)}` };
    return { name, status: 'warning', detail: errorMessage(error), fix };
  }
  try {
    const check = await checkSandbox(open, name);
    return check.status === 'ok' ? check : { ...check, status: 'warning', fix };
  } finally {
    await open.harness.close();
  }
}

/** Starts the search program on a file with a match. */
async function checkSearch({ harness }: OpenHarness, folder: string): Promise<Check> {
  await writeFile(join(folder, 'haystack.txt'), 'needle\n');
  const operation = await harness.callTool('grepFiles', { pattern: 'needle' });
  if (operation.status === 'completed' && JSON.stringify(operation.result).includes('haystack.txt'))
    return { name: 'ripgrep', status: 'ok', detail: 'found a word in a file' };
  return {
    name: 'ripgrep',
    status: 'missing',
    detail: operation.error?.message ?? 'the search found nothing',
    fix: REINSTALL,
  };
}

async function checkFiles(): Promise<Check> {
  const { availableVerification } = await import('@toolscript/tools');
  if (availableVerification() === 'descriptor')
    return { name: 'files', status: 'ok', detail: 'the kernel verifies open files' };
  return {
    name: 'files',
    status: 'warning',
    detail: 'Toolscript verifies open files by path, so it may miss a file that is replaced during the check',
    fix: 'Use Linux with /proc mounted for the strict check.',
  };
}

async function checkGit(): Promise<Check> {
  const version = await programVersion('git');
  if (version !== undefined) return { name: 'git', status: 'ok', detail: version };
  return {
    name: 'git',
    status: 'warning',
    detail: 'git was not found, so scripts cannot use it through exec',
    fix: 'Install git (https://git-scm.com).',
  };
}

/** Sets up the sandbox of `exec` and runs a command in it. Does not start a sandbox that is disabled. */
export async function checkExecSandbox(exec: Settings['exec'] | undefined): Promise<Check> {
  const name = 'exec sandbox';
  if (exec?.sandbox === 'off') {
    return {
      name,
      status: 'missing',
      detail: 'disabled: commands of exec run with all your permissions',
      fix: 'Remove "exec.sandbox" from your configuration.',
    };
  }
  const { checkExecSandbox: tryOut } = await import('@toolscript/tools');
  const started = performance.now();
  const refusal = await tryOut();
  if (refusal === undefined) return { name, status: 'ok', detail: `ran a command in ${elapsedText(started)}` };
  return { name, status: 'warning', detail: `${refusal.reason} exec rejects every command.`, fix: refusal.fix };
}

function checkTerminal(environment: Environment): Check {
  const { stdout, stdin } = process;
  const size = stdout.isTTY ? `terminal of ${stdout.columns}×${stdout.rows}` : 'stdout is not a terminal';
  const colour = wantsColour(stdout.isTTY, environment) ? 'with colour' : 'without colour';
  return {
    name: 'terminal',
    status: 'ok',
    detail: `${size}, ${colour}${stdin.isTTY ? '' : '; stdin is not a terminal'}`,
  };
}

function elapsedText(started: number): string {
  return `${Math.round(performance.now() - started)} ms`;
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
