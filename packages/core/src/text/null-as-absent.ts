/** The diagnostic code for null in an optional member. */
export const NULL_AS_ABSENT = 'null-as-absent';

/** Returns the message about null in an optional member. `path`: the member, such as `args.limit`. */
export function nullAsAbsent(tool: string, path: string): string {
  return `${path} of tools.${tool} is null, which the tool's schema does not allow; the member was omitted.`;
}
