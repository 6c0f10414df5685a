/** Names that a script has without declaring them, beside the language's own globals. */
export const GIVEN: ReadonlySet<string> = new Set(['catalog', 'console', 'context', 'emit', 'sleep', 'text', 'tools']);
