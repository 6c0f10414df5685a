/** The diagnostic code for null in an optional member. */
export const NULL_AS_ABSENT = 'null-as-absent';

/** Returns the note about a null. `path`: the member, such as `args.limit`. */
export function nullAsAbsent(tool: string, path: string): string {
  return `${path} of tools.${tool} is null, which its schema does not allow; it was omitted.`;
}
