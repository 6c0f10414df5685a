import { open } from 'node:fs/promises';
import { isRecord, jsonTextProblem } from '@toolscript/core/internal-data';
import { upgrade } from '@scalar/openapi-upgrader';
import { ConnectError } from '../connection/connect-error.js';
import { oneLine, thrownMessage } from '../connection/readable.js';
import { MAX_DOCUMENT_BYTES } from './document-limits.js';

/** Maximum characters of a YAML document, whose parser takes about a second for each million. */
const MAX_YAML_LENGTH = 4_000_000;
const DOCUMENT_LIMITS = { levels: 200, values: 3_000_000 };

/** A document of any supported version in the form of OpenAPI 3.1. Untrusted data: nothing in it has been checked. */
export interface ApiDocument {
  readonly content: Readonly<Record<string, unknown>>;
  /** The version that its author wrote, such as `OpenAPI 3.0.3` or `Swagger 2.0`. */
  readonly version: string;
}

/** The text of a file. Throws a ConnectError if there is no such file, or if it is too large. */
export async function readDocumentFile(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw unusable('it is not a file');
      // defence: openapi-documents-have-a-size
      if (stat.size > MAX_DOCUMENT_BYTES) throw unusable(`it has more than ${MAX_DOCUMENT_BYTES} bytes, the maximum`);
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof ConnectError) throw error;
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw unusable(isMissing ? 'there is no such file' : oneLine(thrownMessage(error), 300));
  }
}

/** Parses JSON or YAML of OpenAPI 3.x or Swagger 2.0. Throws a ConnectError for any other text. */
export async function parseDocument(text: string): Promise<ApiDocument> {
  const content = await parsedText(text);
  const version = isRecord(content) ? documentVersion(content) : undefined;
  if (version === undefined) throw unusable('it is not a document of OpenAPI 3 or Swagger 2.0');
  return { content: upgraded(content as Record<string, unknown>), version };
}

/** The title and the version of an API, as its document has them. */
export interface DocumentInfo {
  readonly name: string;
  readonly version: string;
}

export function documentInfo({ content }: ApiDocument): DocumentInfo {
  const { title, version } = isRecord(content['info']) ? content['info'] : ({} as Record<string, unknown>);
  return { name: oneLine(String(title ?? 'API'), 100), version: oneLine(String(version ?? ''), 50) };
}

/** A document that cannot be used until its user or author has changed it. The message ends a sentence about it. */
export function unusable(reason: string): ConnectError {
  return new ConnectError(reason, { needsUser: true });
}

async function parsedText(text: string): Promise<unknown> {
  const json = /^[\s\uFEFF]*\{/u.test(text) ? text.replace(/^\uFEFF/u, '') : await jsonOfYaml(text);
  const problem = jsonTextProblem(json, DOCUMENT_LIMITS);
  // defence: openapi-documents-are-measured-before-parsing
  if (problem !== undefined) throw unusable(`it ${problem}, the maximum`);
  try {
    return JSON.parse(json);
  } catch (error) {
    throw unusable(`it is not valid JSON (${oneLine(thrownMessage(error), 200)})`);
  }
}

async function jsonOfYaml(text: string): Promise<string> {
  if (text.length > MAX_YAML_LENGTH)
    throw unusable(`its YAML has more than ${MAX_YAML_LENGTH} characters, the maximum; use its JSON form`);
  const { parse } = await import('yaml');
  try {
    // Aliases that grow without bounds are refused by the parser.
    return JSON.stringify(parse(text)) ?? '';
  } catch (error) {
    throw unusable(`it is neither JSON nor valid YAML (${oneLine(thrownMessage(error), 200)})`);
  }
}

function documentVersion({ openapi, swagger }: Readonly<Record<string, unknown>>): string | undefined {
  if (String(openapi).startsWith('3.')) return `OpenAPI ${oneLine(String(openapi), 20)}`;
  return /^2(?:\.|$)/u.test(String(swagger)) ? 'Swagger 2.0' : undefined;
}

/** The document as OpenAPI 3.1. If one path cannot be upgraded, the others are. */
function upgraded(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    return upgrade({ ...content, ...numbersAsTexts(content) }, '3.1');
  } catch {
    const { paths, ...rest } = content;
    const base = upgradedPart({ ...rest, ...numbersAsTexts(content), paths: {} }) ?? rest;
    const items = Object.entries(isRecord(paths) ? paths : {}).map(([path, item]): [string, unknown] => {
      const part = upgradedPart({ ...namedVersion(content), info: {}, paths: { [path]: item } });
      return [path, isRecord(part?.['paths']) ? part['paths'][path] : undefined];
    });
    return { ...base, paths: Object.fromEntries(items) };
  }
}

function upgradedPart(part: Record<string, unknown>): Record<string, unknown> | undefined {
  try {
    return upgrade(part, '3.1');
  } catch {
    return undefined;
  }
}

function namedVersion({ openapi, swagger, consumes, produces }: Readonly<Record<string, unknown>>) {
  return { openapi, swagger, consumes, produces, ...numbersAsTexts({ openapi, swagger }) };
}

/** YAML reads `swagger: 2.0` as a number. */
function numbersAsTexts({ openapi, swagger }: Readonly<Record<string, unknown>>): Record<string, string> {
  if (swagger !== undefined) return { swagger: '2.0' };
  return openapi === undefined ? {} : { openapi: String(openapi) };
}
