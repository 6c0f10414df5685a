/** The needs of a harness's scripts, and the needs that the harness opens: see `needs` of a `Run`. */
export interface ScriptCapability {
  /** The needs of the scripts that the harness begins or continues. */
  readonly needs: readonly string[];
  /** These needs, earlier suspension keys, and earlier versions of the sandbox's bridge. */
  readonly opens: readonly string[];
}
