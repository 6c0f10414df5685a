import { failure, failureMessage, failureReason } from '../failure.js';
import { quotePath } from '../files/path-rules.js';
import { displayPath, type Workspace } from '../files/workspace.js';
import type { CommandResult } from './process-tree.js';
import type { UncheckedWorkspace } from './sandbox/client.js';
import type { Aftermath, UncheckedPlace } from './sandbox/messages.js';

/** A result with sentences about the protected files that the command made or changed. */
interface ReportedResult extends CommandResult {
  quarantined?: string[];
}

/** Maximum number of places that a report names. */
const MAX_SENTENCES = 50;

/**
 * The result or the error of a command, with sentences about the protected files that it made or changed. A place that
 * could not be checked or moved away makes it an error, whose data has the result.
 */
export function reportedOutcome(
  workspace: Workspace,
  outcome: PromiseSettledResult<CommandResult>,
  { moved, unchecked }: Aftermath,
): ReportedResult {
  const sentences = limited([
    ...unchecked.map((place) => uncheckedSentence(workspace, place)),
    ...moved.map(
      ({ path, movedTo, reason }) =>
        `The command made, changed or moved ${shown(workspace, path)}, which is protected: ${reason}. Toolscript moved it to its quarantine folder as ${quotePath(movedTo)}.`,
    ),
  ]);
  if (outcome.status === 'rejected') throw withSentences(outcome.reason, sentences);
  const result = outcome.value;
  if (sentences.length === 0) return result;
  // defence: unchecked-places-are-errors
  if (unchecked.length > 0)
    throw failure(
      'unavailable',
      [`The command ran and ended with status ${result.exitCode}.`, ...sentences].join(' '),
      { quarantined: sentences, result },
    );
  return { ...result, quarantined: sentences };
}

/** The error for a workspace in which a command must not start. */
export function uncheckedWorkspace(workspace: Workspace, { unchecked }: UncheckedWorkspace): Error {
  const sentences = limited(unchecked.map((place) => uncheckedSentence(workspace, place)));
  return failure('unavailable', ['The command was not run.', ...sentences].join(' '));
}

function uncheckedSentence(workspace: Workspace, { path, reason }: UncheckedPlace): string {
  return `Toolscript could not check ${shown(workspace, path)} for files that other programs run: ${reason}. Remove it before you use the workspace.`;
}

function withSentences(error: unknown, sentences: readonly string[]): unknown {
  const reason = failureReason(error);
  if (reason === undefined || sentences.length === 0) return error;
  return failure(reason, [failureMessage(error), ...sentences].join(' '), { quarantined: sentences });
}

function limited(sentences: string[]): string[] {
  if (sentences.length <= MAX_SENTENCES) return sentences;
  return [...sentences.slice(0, MAX_SENTENCES), `${sentences.length - MAX_SENTENCES} more places are not listed.`];
}

function shown(workspace: Workspace, path: string): string {
  return quotePath(displayPath(workspace, path));
}
