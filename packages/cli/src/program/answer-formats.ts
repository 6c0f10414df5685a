/** The forms of what a command prints about a run. `stream-json`: one event a line. */
export const OUTPUT_FORMATS = ['text', 'json', 'stream-json'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

interface FormatFlags {
  json?: boolean | undefined;
  outputFormat?: OutputFormat | undefined;
}

/** The same options, with `json` for events. */
export function withOutputFormat<Flags extends FormatFlags>(flags: Flags): Flags {
  return flags.outputFormat === 'stream-json' ? { ...flags, json: true } : flags;
}
