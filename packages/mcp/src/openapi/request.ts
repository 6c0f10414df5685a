import { isRecord } from '@toolscript/core/internal';
import { ToolCallError } from '@toolscript/core';
import type { Operation } from './operations.js';
import { withLongIntegers, withoutMark } from '../tools/long-integers.js';
import { IN_PATH, type Parameter } from './parameters.js';
import type { BodyPlan } from './request-body.js';

/** A request of an API, without the configured headers. */
export interface ApiRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

type Input = Readonly<Record<string, unknown>>;

/** The request for a call. Throws a ToolCallError for a value that no path or header can contain. */
export async function apiRequest(operation: Operation, input: Input, base: URL): Promise<ApiRequest> {
  const { method, parameters, body: plan } = operation;
  const url = requestUrl(operation, input, base);
  const headers: Record<string, string> = {};
  for (const parameter of given(parameters, input, 'header')) headers[parameter.name] = headerText(parameter);
  const cookies = given(parameters, input, 'cookie').map(
    ({ name, value }) => `${name}=${encodeURIComponent(text(value))}`,
  );
  if (cookies.length > 0) headers['cookie'] = cookies.join('; ');
  const body = plan && (await requestBody(plan, bodyArguments(parameters, input)));
  if (body !== undefined) headers['content-type'] = body.type;
  return { url, method, headers, body: body?.content };
}

interface GivenParameter extends Parameter {
  readonly value: unknown;
}

function given(parameters: readonly Parameter[], input: Input, place: Parameter['place']): GivenParameter[] {
  return parameters.flatMap((parameter) => {
    const value = Object.hasOwn(input, parameter.argument) ? input[parameter.argument] : undefined;
    return parameter.place !== place || value === undefined || value === null ? [] : [{ ...parameter, value }];
  });
}

function requestUrl({ path, parameters }: Operation, input: Input, base: URL): URL {
  const values = new Map(given(parameters, input, 'path').map((parameter) => [parameter.name, parameter]));
  const filled = path.replaceAll(IN_PATH, (_whole, name: string) => pathSegment(name, values.get(name)));
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/u, '')}/${filled.replace(/^\/+/u, '')}`;
  const query = given(parameters, input, 'query').flatMap(queryPairs);
  const pairs = query.map(([name, value]) => `${encodeURIComponent(name)}=${value}`);
  url.search = [base.search.slice(1), ...pairs].filter((pair) => pair !== '').join('&');
  return url;
}

function pathSegment(name: string, parameter: GivenParameter | undefined): string {
  const segment = parameter === undefined ? '' : simpleText(parameter, encodeURIComponent);
  // defence: openapi-paths-have-no-way-up
  if (segment === '' || /^\.{1,2}$/u.test(segment))
    throw badValue(`"${name}" is a part of the path, so it cannot be "${segment}".`);
  return segment;
}

function headerText(parameter: GivenParameter): string {
  const value = simpleText(parameter);
  const character = /[^\t\x20-\x7e\x80-\xff]/u.exec(value)?.[0];
  if (character === undefined) return value;
  throw badValue(`"${parameter.name}" is a header, so it cannot contain ${JSON.stringify(character)}.`);
}

function badValue(problem: string): ToolCallError {
  return new ToolCallError('ToolExecutionError', `${problem} Pass another value.`, { reason: 'bad_value' });
}

type Encode = (text: string) => string;

/** A value in a path or a header: lists and objects with commas. */
function simpleText({ value, isJson, explode }: GivenParameter, encode: Encode = (plain) => plain): string {
  if (isJson || typeof value !== 'object' || value === null) return encode(isJson ? json(value) : text(value));
  if (Array.isArray(value)) return value.map((part) => encode(text(part))).join(',');
  return Object.entries(value)
    .map(([name, part]) => [encode(name), encode(text(part))].join(explode ? '=' : ','))
    .join(',');
}

const SEPARATORS: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '|' };

/** The names of a parameter in a query, with their encoded values. */
function queryPairs({ name, value, style, explode, isJson }: GivenParameter): [name: string, value: string][] {
  if (isJson || typeof value !== 'object' || value === null)
    return [[name, encodeURIComponent(isJson ? json(value) : text(value))]];
  const parts = Object.entries(value).map(([key, part]): [string, string] => [key, encodeURIComponent(text(part))]);
  const isList = Array.isArray(value);
  if (style === 'deepObject') return parts.map(([key, part]) => [`${name}[${isList ? '' : key}]`, part]);
  if (explode) return parts.map(([key, part]) => [isList ? name : key, part]);
  const all = isList ? parts.map(([, part]) => part) : parts.flatMap(([key, part]) => [encodeURIComponent(key), part]);
  return all.length === 0 ? [] : [[name, all.join(SEPARATORS[style] ?? ',')]];
}

/** The arguments that are no parameters. */
function bodyArguments(parameters: readonly Parameter[], input: Input): Record<string, unknown> {
  const names = new Set(parameters.map(({ argument }) => argument));
  return Object.fromEntries(Object.entries(input).filter(([name, value]) => !names.has(name) && value !== undefined));
}

interface RequestBody {
  readonly type: string;
  readonly content: string | Uint8Array;
}

async function requestBody(
  plan: BodyPlan,
  members: Readonly<Record<string, unknown>>,
): Promise<RequestBody | undefined> {
  const { form, mediaType: type, isWhole, required } = plan;
  const value = isWhole ? members['body'] : members;
  if (value === undefined || (!isWhole && required.length === 0 && Object.keys(members).length === 0)) return undefined;
  if (form === 'json') return { type, content: json(value) };
  if (form === 'text') return { type, content: text(value) };
  if (form === 'binary') return { type, content: Buffer.from(text(value), 'base64') };
  const encoded = new Response(form === 'multipart' ? multipart(value, plan) : urlEncoded(value));
  return {
    type: encoded.headers.get('content-type') ?? type,
    content: new Uint8Array(await encoded.arrayBuffer()),
  };
}

function urlEncoded(value: unknown): URLSearchParams {
  return new URLSearchParams(fields(value).map(([name, field]): [string, string] => [name, text(field)]));
}

function multipart(value: unknown, { binary }: BodyPlan): FormData {
  const form = new FormData();
  for (const [name, field] of fields(value))
    if (binary.has(name)) form.append(name, new Blob([Buffer.from(text(field), 'base64')]), name);
    else form.append(name, text(field));
  return form;
}

/** The fields of a form: each element of a list is a field of its own. */
function fields(value: unknown): [name: string, field: unknown][] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, field]): [string, unknown][] =>
    Array.isArray(field) ? field.map((part): [string, unknown] => [name, part]) : [[name, field]],
  );
}

function text(value: unknown): string {
  return typeof value === 'object' ? json(value) : withoutMark(String(value));
}

const json = (value: unknown): string => withLongIntegers(JSON.stringify(value));
