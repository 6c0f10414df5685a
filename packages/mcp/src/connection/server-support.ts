import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { TASKS_EXTENSION } from './server-task.js';

/** The names of what a server supports besides tools. */
export function serverSupport(capabilities: ServerCapabilities): readonly string[] {
  const { tasks, resources, prompts, completions, logging, extensions = {} } = capabilities;
  const isSupported = {
    tasks: tasks?.requests?.tools?.call !== undefined || TASKS_EXTENSION in extensions,
    resources: resources !== undefined,
    'resource subscriptions': resources?.subscribe === true,
    prompts: prompts !== undefined,
    completions: completions !== undefined,
    logging: logging !== undefined,
  };
  const others = Object.keys(extensions).filter((name) => name !== TASKS_EXTENSION);
  return [...Object.entries(isSupported).flatMap(([name, is]) => (is ? [name] : [])), ...others];
}
