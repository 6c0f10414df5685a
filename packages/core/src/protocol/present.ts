/** The members that are not undefined. */
export function present<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: Exclude<Members[Name], undefined>;
  };
}
