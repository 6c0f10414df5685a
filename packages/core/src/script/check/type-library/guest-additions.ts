import type { LibraryFile } from './compiler-library.js';
import { INTL_DECLARATIONS } from './intl-declarations.js';
import { LANGUAGE_DECLARATIONS } from './language-declarations.js';
import { WEB_DECLARATIONS } from './web-declarations.js';

/** Built-ins of the guest that TypeScript's declarations of the language lack, as separate files. */
export const GUEST_ADDITIONS: readonly LibraryFile[] = [
  { name: 'language.d.ts', text: LANGUAGE_DECLARATIONS },
  { name: 'web.d.ts', text: WEB_DECLARATIONS },
  { name: 'intl.d.ts', text: INTL_DECLARATIONS },
];
