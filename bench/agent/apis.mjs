/** The wire formats, and the names of their rows. */
export const APIS = [
  { api: 'openai-responses', short: 'responses' },
  { api: 'openai-chat', short: 'chat' },
  { api: 'anthropic-messages', short: 'messages' },
];
