import type { SubAgentOptions } from '@toolscript/core/agent';
import { documentText } from '../cabinet/document-text.js';
import { requireThread } from '../cabinet/documents.js';
import { loadPrompt, type PromptLibrary } from '../prompts/prompt-library.js';

/**
 * The options with which `createSubAgents` finds the prompts of `promptTools` and the files of `cabinetTools`. A call
 * finds only the files of its own conversation, and only the prompts of its own scopes and of the library's files.
 */
export function storedTexts(library: PromptLibrary): Pick<SubAgentOptions, 'loadPrompt' | 'documentText'> {
  const { documents } = library;
  return {
    loadPrompt: (name, variables, call) => loadPrompt(library, { name, variables }, call),
    ...(documents !== undefined && {
      documentText: (fileKey, call) => documentText(documents, requireThread(call), fileKey),
    }),
  };
}
