import type { KnownArgument, KnownVerdict, ValidationIssue } from '../../protocol/index.js';
import { nullAsAbsent } from '../../text/null-as-absent.js';
import { isUnknownKey } from '../../text/unknown-key.js';
import { leadsThrough } from '../../text/value-path.js';
import type { CallFact, SourceFacts } from '../analyse/source-facts.js';

/**
 * The judgement of a tool's own validator about an argument before the script runs; undefined if no tool has this name.
 */
export type JudgeArgument = (tool: string, argument: KnownArgument) => KnownVerdict | undefined;

/** A fault in a call that the tool will reject. */
export interface CallIssue {
  readonly call: CallFact;
  readonly offset: number;
  /** True if a member is missing. `offset` is then the offset of the value that should contain the member. */
  readonly isMissing: boolean;
  readonly isUnknownKey: boolean;
  /** The name of the faulty member: the last part of its path. */
  readonly name: string;
  readonly message: string;
}

interface CallNote {
  readonly offset: number;
  readonly message: string;
}

/** The results of the tools' own validators for the calls with known arguments. */
export interface JudgedCalls {
  readonly issues: readonly CallIssue[];
  readonly notes: readonly CallNote[];
  /** Calls whose arguments are completely known and accepted by their tools. */
  readonly accepted: ReadonlySet<CallFact>;
}

export function judgeCalls({ calls }: SourceFacts, judgeArgument: JudgeArgument): JudgedCalls {
  const issues: CallIssue[] = [];
  const notes: CallNote[] = [];
  const accepted = new Set<CallFact>();
  for (const call of calls) {
    const { knownArguments = [] } = call;
    const verdicts = knownArguments.map((argument) => judgeArgument(call.tool, argument));
    for (const [index, argument] of knownArguments.entries()) {
      const verdict = verdicts[index];
      issues.push(...(verdict?.issues ?? []).map((issue) => callIssue(call, argument, issue)));
      notes.push(...(verdict?.absent ?? []).map((path) => absentNote(call, argument, path)));
    }
    const isAccepted = knownArguments.length > 0 && verdicts.every((verdict) => verdict?.issues.length === 0);
    if (isAccepted && knownArguments.every(({ unknown, open }) => unknown.length + open.length === 0))
      accepted.add(call);
  }
  return { issues, notes, accepted };
}

function absentNote(call: CallFact, argument: KnownArgument, path: string): CallNote {
  return { offset: argumentOffset(call, argument, path), message: nullAsAbsent(call.tool, path) };
}

function argumentOffset(call: CallFact, { places }: KnownArgument, path: string): number {
  return places.findLast(([place]) => leadsThrough(path, place))?.[1] ?? call.start;
}

function callIssue(call: CallFact, argument: KnownArgument, issue: ValidationIssue): CallIssue {
  const { path, message, received } = issue;
  return {
    call,
    offset: argumentOffset(call, argument, path),
    isMissing: received === 'undefined',
    isUnknownKey: isUnknownKey(issue),
    name: /[^.[\]"]+(?="?\]?$)/u.exec(path)?.[0] ?? path,
    message: `${path} of tools.${call.tool}: ${message}.`,
  };
}
