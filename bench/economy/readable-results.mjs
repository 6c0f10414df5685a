/**
 * Shows results of the coding tools to a model that calls them one by one, as the text that a host would select and not
 * as the complete JSON. If a result has a text for models, the agent itself selects it. So results that were designed
 * for scripts do not make structured calls more expensive.
 */
const SHOWN = {
  fileSearch: ({ files }) => files.map(({ path }) => path).join('\n'),
  applyPatch: ({ summary }) => summary,
  webSearch: ({ results }) => results.map(({ title, url, snippet }) => `${title}\n${url}\n${snippet}`).join('\n\n'),
  fetchUrl: ({ fetches }) => fetches.map(({ fileKey, content }) => `fileKey ${fileKey}\n${content}`).join('\n\n'),
  agents_launch_sync: ({ answer, problem }) => answer ?? problem,
  exec: ({ exitCode, aggregatedOutput }) => `exit code ${exitCode}\n${aggregatedOutput}`,
};

/** The same provider, which receives results of structured calls as such texts. */
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
