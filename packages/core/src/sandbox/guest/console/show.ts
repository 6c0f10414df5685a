/** Returns the text of a value; at depth 0, strings are shown as they are. */
export type Show = (value: unknown, depth: number) => string;
