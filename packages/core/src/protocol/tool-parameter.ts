/** One member of the object that a tool takes. */
export interface ToolParameter {
  readonly name: string;
  readonly isRequired: boolean;
}
