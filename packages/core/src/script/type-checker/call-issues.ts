import type { KnownArgument, ValidationIssue } from '../../protocol/index.js';
import { isUnknownKey } from '../../text/unknown-key.js';
import { leadsThrough } from '../../text/value-path.js';
import type { CallFact, SourceFacts } from '../source-facts.js';

/** What a tool's own validator says of an argument that is known before the script runs; empty where that is nothing. */
export type IssuesOf = (tool: string, known: KnownArgument) => readonly ValidationIssue[];

/** Something in a call that the tool will refuse. */
export interface CallIssue {
  readonly call: CallFact;
  readonly offset: number;
  /** A member is not there; the offset is that of what should hold it. */
  readonly isMissing: boolean;
  readonly isUnknownKey: boolean;
  /** What it is about: the last part of its path. */
  readonly name: string;
  readonly message: string;
}

/** The calls of tools whose arguments are known, as the tools' own validators judge them. */
export interface JudgedCalls {
  readonly issues: readonly CallIssue[];
  /** Calls with arguments that are known to the last part and that their tools accept. */
  readonly accepted: ReadonlySet<CallFact>;
}

export function judgeCalls({ calls }: SourceFacts, issuesOf: IssuesOf): JudgedCalls {
  const issues: CallIssue[] = [];
  const accepted = new Set<CallFact>();
  for (const call of calls) {
    const { known, tool } = call;
    if (known === undefined) continue;
    const found = issuesOf(tool, known);
    issues.push(...found.map((issue) => callIssue(call, known, issue)));
    if (found.length === 0 && known.unknown.length + known.open.length === 0) accepted.add(call);
  }
  return { issues, accepted };
}

function callIssue(call: CallFact, { places }: KnownArgument, issue: ValidationIssue): CallIssue {
  const { path, message, received } = issue;
  const [, offset] = places.findLast(([inner]) => leadsThrough(path, inner)) ?? ['', call.start];
  return {
    call,
    offset,
    isMissing: received === 'undefined',
    isUnknownKey: isUnknownKey(issue),
    name: /[^.[\]"]+(?="?\]?$)/u.exec(path)?.[0] ?? path,
    message: `${path} of tools.${call.tool}: ${message}.`,
  };
}
