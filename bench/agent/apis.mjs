/** The wire formats, and how the rows of each are named. */
export const APIS = [
  { api: 'openai-responses', short: 'responses' },
  { api: 'openai-chat', short: 'chat' },
  { api: 'anthropic-messages', short: 'messages' },
];
