/** The code of a diagnostic about null for a member that may be left out. */
export const NULL_AS_ABSENT = 'null-as-absent';

/** `path`: of the member, `args.limit`. */
export function nullAsAbsent(tool: string, path: string): string {
  return `${path} of tools.${tool} is null, which it may not be, and counts as left out.`;
}
