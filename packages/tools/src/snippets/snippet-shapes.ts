import type { DocumentInfo, StoredDocument } from '@toolscript/core/ports';
import type { JsonObject } from '@toolscript/core/protocol';
import type { SavedScript } from '@toolscript/core/internal';
import { z } from 'zod';

/** Names that the snippet tools use, or that no object may have as a member. */
const RESERVED: readonly string[] = [
  'save',
  'run',
  'get',
  'list',
  'delete',
  'then',
  'toJSON',
  'constructor',
  'prototype',
];

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/u;

export const SnippetName = z
  .string()
  .refine((name) => NAME.test(name) && !RESERVED.includes(name), {
    message:
      'must be letters, digits and "_" after a letter, at most 64 characters, and not a reserved name such as "save" or "then"',
  })
  .describe('Letters, digits and "_" after a letter.');

export const VERSION = z.number().int().min(1);

/** Maximum lengths in characters, so that an approval can show the whole snippet. */
export const MAX_SOURCE = 20_000;
export const MAX_SCHEMA = 8_000;

/** The `about` of a stored snippet. */
interface About {
  readonly description: string;
  readonly input: JsonObject;
  readonly output?: JsonObject | undefined;
  readonly untrusted?: boolean | undefined;
}

export function snippetAbout({ about }: Pick<DocumentInfo, 'about'>): About {
  return about as unknown as About;
}

export function snippetScript(stored: StoredDocument): SavedScript {
  const { input, output, untrusted } = snippetAbout(stored);
  return { name: stored.name, version: stored.version, source: stored.text, input, output, untrusted };
}
