import {
  savedScriptId,
  scriptFailure,
  ToolCallError,
  ToolscriptUsageError,
  type CompiledScript,
  type CompileResult,
  type Limits,
  type LinkedScript,
  type SavedScript,
  type SavedScriptCheck,
  type SavedScriptOwner,
  type ScriptFailure,
  type Tool,
} from '../protocol/index.js';
import { reportInternalError, type DurabilityServices } from './durability/services.js';
import { restoreScript, type Compiler } from '../script/index.js';
import { toolParameters, typesOfSchemas, type ToolRegistry } from '../tools/index.js';
import type { RunContext } from '../protocol/run-context.js';
import { writtenNames } from '../text/identifier-name.js';
import type { LazyChecker } from './lazy-checker.js';

/** Maximum number of saved scripts that one script can run, directly or through other saved scripts. */
const MAX_SCRIPTS = 32;

/** The members of a harness's services that compile scripts for its tools. */
interface Services extends Pick<DurabilityServices, 'onInternalError'> {
  readonly compiler: Compiler;
  readonly checker: LazyChecker | undefined;
  readonly registry: ToolRegistry;
  readonly exposed: ReadonlySet<string>;
  readonly tools: readonly Tool[];
  readonly toolNames: readonly string[];
}

type SourceLimits = Pick<Limits, 'maxSourceBytes' | 'queueWaitMs'>;

/**
 * Links a script to the saved scripts that its calls name, and those saved scripts to the saved scripts that their own
 * calls name. A script that is resumed later still runs the versions that are found now.
 */
export async function linkSavedScripts(
  services: Services,
  script: CompiledScript,
  owner: SavedScriptOwner,
  limits: SourceLimits,
): Promise<CompileResult> {
  try {
    return await link(services, script, owner, limits);
  } catch (error) {
    // A closed compiler rejects every script, including this one.
    if (error instanceof ToolscriptUsageError) throw error;
    if (!(error instanceof ToolCallError))
      reportInternalError(
        services,
        '',
        `The saved scripts of a script could not be read: ${String(error)}. Check the store of saved scripts.`,
      );
    return failedCompile(script, unreadableFailure(error));
  }
}

async function link(
  services: Services,
  script: CompiledScript,
  owner: SavedScriptOwner,
  limits: SourceLimits,
): Promise<CompileResult> {
  const linked = new Map<string, LinkedScript>();
  const open: CompiledScript[] = [script];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const saved of await findSavedScripts(services, next, owner)) {
      const id = savedScriptId(saved);
      const known = linked.get(id);
      // defence: one-text-for-a-version
      if (known !== undefined && known.source !== saved.source) return failedCompile(script, ambiguous(id));
      if (known !== undefined) {
        if (saved.isDefault === true) linked.set(id, { ...known, isDefault: true });
        continue;
      }
      if (linked.size === MAX_SCRIPTS) return failedCompile(script, tooMany());
      const result = await compileSavedScript(services, saved, limits, owner.principal);
      if (!result.ok) return failedCompile(script, doesNotFit(id, result.failure));
      linked.set(id, { ...saved, compiled: result.script.stored() });
      open.push(result.script);
    }
  }
  if (linked.size === 0) return { ok: true, script, cacheHit: false };
  const tools = services.tools.filter(({ savedScript }) => savedScript !== undefined);
  const links = { tools: tools.flatMap(({ name }) => writtenNames(name)), scripts: [...linked.values()] };
  return { ok: true, script: restoreScript({ ...script.stored(), linked: links }), cacheHit: false };
}

/** Whether a call of the script may run a saved script. Most scripts make no such call. */
export function runsSavedScripts(services: Services, { plan }: CompiledScript): boolean {
  return plan.some(({ tool }) => toolWithScripts(services, tool) !== undefined);
}

/**
 * Compiles a saved script's source alone, and then the source inside the function that a calling script runs. Returns
 * the names of the called tools, or the first problem.
 */
export async function checkSavedScript(
  services: Services,
  saved: SavedScript,
  { limits, principal }: Pick<RunContext, 'limits' | 'principal'>,
): Promise<SavedScriptCheck> {
  // The source must be complete without the function around it, so that nothing in the source can close that function.
  const { maxSourceBytes, queueWaitMs } = limits;
  const how = { language: 'ts', maxSourceBytes, principal, queueWaitMs } as const;
  const alone = await services.compiler.compile(saved.source, how);
  // defence: saved-sources-are-complete
  if (!alone.ok) return { ok: false, problem: savedScriptProblem(alone.failure, 0) };
  const result = await compileSavedScript(services, saved, limits, principal);
  if (!result.ok) return { ok: false, problem: savedScriptProblem(result.failure, 1) };
  return { ok: true, tools: [...new Set(result.script.plan.map(({ tool }) => tool))] };
}

async function findSavedScripts(
  services: Services,
  { plan, given }: CompiledScript,
  owner: SavedScriptOwner,
): Promise<SavedScript[]> {
  const found: SavedScript[] = [];
  for (const [index, { tool }] of plan.entries()) {
    const saved = await toolWithScripts(services, tool)?.savedScript?.(given[index] ?? {}, owner);
    if (saved !== undefined) found.push(saved);
  }
  return found;
}

/**
 * Returns the tool if it can run saved scripts and is exposed: a script that cannot call the tool must not run its
 * saved scripts either.
 */
function toolWithScripts({ registry, exposed }: Services, name: string): Tool | undefined {
  const tool = registry.get(name);
  // defence: saved-scripts-of-exposed-tools
  if (tool !== undefined && !exposed.has(tool.name)) return undefined;
  return tool?.savedScript === undefined ? undefined : tool;
}

/** The prefix of the names of types in the line before the source. */
const TYPE_PREFIX = 'SavedScript';

function compileSavedScript(
  { compiler, checker, toolNames, registry }: Services,
  { source, input }: SavedScript,
  { maxSourceBytes, queueWaitMs }: SourceLimits,
  principal: string | undefined,
): Promise<CompileResult> {
  const { definitions, types } = typesOfSchemas(TYPE_PREFIX, [input]);
  const head = `${definitions} const input = context.snippetInput as ${types[0]}; return await (async () => {`;
  return compiler.compile(`${head}\n${source}\n})();`, {
    language: 'ts',
    maxSourceBytes: maxSourceBytes + head.length,
    toolNames,
    findParameters: (tool) => toolParameters(registry.get(tool)),
    typeChecker: checker,
    principal,
    queueWaitMs,
  });
}

function savedScriptProblem({ message, line }: ScriptFailure, linesBefore: number): string {
  if (linesBefore === 0 || line === undefined) return message;
  return message.replaceAll(/\(line (\d+), column/gu, (_, at: string) => `(line ${Number(at) - linesBefore}, column`);
}

function failedCompile(script: CompiledScript, failure: ScriptFailure): CompileResult {
  return { ok: false, failure, diagnostics: script.diagnostics, cacheHit: false };
}

function doesNotFit(id: string, failure: ScriptFailure): ScriptFailure {
  return scriptFailure(failure.code, `The saved script ${id} cannot run here: ${savedScriptProblem(failure, 1)}`, {
    hint: 'The tools have changed since the script was saved. Correct the script and save it again, or delete it.',
  });
}

/**
 * Returns the failure of a script whose saved scripts could not be read. Only the message of a `ToolCallError` is for
 * the model.
 */
function unreadableFailure(error: unknown): ScriptFailure {
  const reason = error instanceof ToolCallError ? ` ${error.message}` : '';
  return scriptFailure('ToolExecutionError', `The saved scripts of this script could not be read.${reason}`, {
    hint: 'Nothing has run. Correct the call of the saved script, or send the script again later.',
  });
}

/**
 * Returns the failure for two saved scripts with one id: the first script was deleted, and another script was saved
 * under its name.
 */
function ambiguous(id: string): ScriptFailure {
  return scriptFailure(
    'ScriptRuntimeError',
    `Two saved scripts have the name and version ${id}. Send the script again.`,
  );
}

function tooMany(): ScriptFailure {
  return scriptFailure('ScriptTooLargeError', `The script would run more than ${MAX_SCRIPTS} saved scripts.`, {
    hint: 'Run them from several scripts.',
  });
}
