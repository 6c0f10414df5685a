import type { ValidationIssue } from '../protocol/tools.js';
import type { ValuePath } from '../text/value-path.js';
import type { Failure, Spot } from './validate.js';
import { unionIssues, type LocatedIssue } from './validation-issues.js';

/** Maximum number of failures that are explained, and of issues in a report, because a reader needs only a few. */
const MAX_EXPLAINED = 200;
const MAX_ISSUES = 50;

/** Converts failures to issues. A union reports only the failures of one branch. */
export function explainFailures(failures: readonly Failure[]): ValidationIssue[] {
  const issues = explainList(failures, { left: MAX_EXPLAINED }).map(({ issue }) => issue);
  return [...new Map(issues.map((issue) => [`${issue.path}: ${issue.message}`, issue])).values()];
}

function explainList(failures: readonly Failure[], work: { left: number }): LocatedIssue[] {
  const issues: LocatedIssue[] = [];
  for (const { spot, nature, issue, branches } of failures) {
    work.left -= 1;
    if (issues.length >= MAX_ISSUES || work.left < 0) break;
    const path = spotPath(spot);
    if (branches === undefined) issues.push({ path, nature, issue: issue(path, issues.length) });
    else
      issues.push(
        ...unionIssues(
          branches.map((branch) => explainList(branch, work)),
          path,
          spot.value,
        ),
      );
  }
  return issues;
}

function spotPath(spot: Spot): ValuePath {
  const path: (string | number)[] = [];
  for (let at: Spot | undefined = spot; at?.key !== undefined; at = at.outer) path.unshift(at.key);
  return path;
}
