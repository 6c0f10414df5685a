/**
 * How results of the coding tools are shown to a model that calls them one by one: as the text that a host would pick
 * from them, not as the JSON of everything. Where a result has a text to read, the agent picks that by itself. What a structured call costs is not
 * made worse by results that were shaped for scripts.
 */
const SHOWN = {
  fileSearch: ({ files }) => files.map(({ path }) => path).join('\n'),
  applyPatch: ({ summary }) => summary,
  exec: ({ exitCode, aggregatedOutput }) => `exit code ${exitCode}\n${aggregatedOutput}`,
};

/** The same provider, told results of structured calls in that way. */
export function withReadableResults(provider) {
  return {
    ...provider,
    stream: (request, options) =>
      provider.stream({ ...request, conversation: readable(request.conversation) }, options),
  };
}

function readable(conversation) {
  const names = new Map();
  return conversation.map((item) => {
    if (item.type === 'function_call') names.set(item.call_id, item.name);
    const shown = item.type === 'function_call_output' && item.success ? SHOWN[names.get(item.call_id)] : undefined;
    return shown === undefined ? item : { ...item, output: shown(JSON.parse(item.output)) };
  });
}
