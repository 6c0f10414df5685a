import { isRecord } from '@toolscript/core/internal-data';
import type { DocumentSchemas } from './schemas.js';

const SUCCESS = /^2(?:\d\d|XX)$/iu;
const JSON_TYPE = /^(?:application\/(?:[\w.-]+\+)?json\b|\*\/\*)/iu;

/** The schema of what a successful call returns; undefined if any of its forms is not JSON. */
export function resultSchema(responses: unknown, schemas: DocumentSchemas): object | undefined {
  if (!isRecord(responses)) return undefined;
  const found = Object.keys(responses).filter((status) => SUCCESS.test(status));
  const names = found.length === 0 && Object.hasOwn(responses, 'default') ? ['default'] : found;
  const forms = names.map((status) => responseSchema(responses[status], schemas));
  if (forms.length === 0 || forms.includes(undefined)) return undefined;
  if (forms.length === 1) return forms[0] as object;
  const distinct = [...new Map(forms.map((form) => [JSON.stringify(form), form])).values()];
  return distinct.length === 1 ? (distinct[0] as object) : { anyOf: distinct };
}

function responseSchema(given: unknown, schemas: DocumentSchemas): unknown {
  const response = schemas.resolve(given);
  if (response === undefined) return undefined;
  const { content } = response;
  if (!isRecord(content) || Object.keys(content).length === 0) return { type: 'null' };
  const [, media] = Object.entries(content).find(([type]) => JSON_TYPE.test(type)) ?? [];
  return isRecord(media) && isRecord(media['schema']) ? media['schema'] : undefined;
}
