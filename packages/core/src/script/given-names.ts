/** Names that a script has without declaring them, in addition to the language's own globals. */
export const GIVEN: ReadonlySet<string> = new Set(['catalog', 'console', 'context', 'emit', 'sleep', 'text', 'tools']);
