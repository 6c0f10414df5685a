// Reads and writes URLs as the URL standard (url.spec.whatwg.org) defines.
//
// The standard describes one state machine over code points. This parser works on whole parts instead, because '#' and
// '?' end every earlier part: it removes the fragment and the query, then reads the scheme, the authority and the path
// from the rest.

import { Number, String, TypeError } from '../../primordials.js';
import { parseHost } from './hosts.js';
import { CONTROL_SET, INVALID, percentEncode } from './percent-encoding.js';

/** A URL, split into its parts. */
export interface UrlRecord {
  scheme: string;
  username: string;
  password: string;
  /** Null for a URL without a host. */
  host: string | null;
  port: string;
  /** Segments; text for an opaque path ("mailto:a@b"). */
  path: string[] | string;
  query: string | null;
  fragment: string | null;
}

export const DEFAULT_PORTS: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  http: '80',
  https: '443',
  ws: '80',
  wss: '443',
  ftp: '21',
  file: '',
};

// Runs of characters that are percent-encoded in each part.
export const FRAGMENT_SET = /[^!#-;=?-_a-~]+/gu;
const QUERY_SET = /[^!$-;=?-~]+/gu;
const SPECIAL_QUERY_SET = /[^!$-&(-;=?-~]+/gu;
const PATH_SET = /[^!$-;=@-\]_a-z|~]+/gu;
export const USERINFO_SET = /[^!$-.0-9A-Z_a-z~]+/gu;

export function parseOrThrow(address: unknown, base?: unknown): UrlRecord {
  const record = parseWithBase(address, base);
  if (record !== null) return record;
  const short = `${address}`.slice(0, 200);
  throw new TypeError(
    base === undefined ? `Invalid URL: "${short}"` : `Invalid URL: "${short}" with the base "${base}"`,
  );
}

/** The record of a URL; null if the URL or its base is invalid. */
export function parseWithBase(address: unknown, base: unknown): UrlRecord | null {
  const text = wellFormedText(address);
  try {
    return parse(text, base === undefined ? null : parse(wellFormedText(base), null));
  } catch (error) {
    if (error !== INVALID) throw error;
    return null;
  }
}

function parse(text: string, base: UrlRecord | null): UrlRecord {
  const url: UrlRecord = {
    scheme: '',
    username: '',
    password: '',
    host: null,
    port: '',
    path: [],
    query: null,
    fragment: null,
  };
  const [beforeFragment, fragment] = cut(withoutNewlines(trimControls(text)), '#');
  const [beforeQuery, query] = cut(beforeFragment, '?');
  const scheme = /^[a-zA-Z][a-zA-Z0-9+\-.]*(?=:)/.exec(beforeQuery)?.[0];
  if (scheme === undefined) {
    if (base === null) throw INVALID;
    if (typeof base.path === 'string' && (beforeQuery !== '' || query !== null || fragment === null)) throw INVALID;
    url.scheme = base.scheme;
    parseRelative(url, beforeQuery, query, base);
  } else {
    url.scheme = scheme.toLowerCase();
    parseAfterScheme(url, beforeQuery.slice(scheme.length + 1), query, base, query !== null || fragment !== null);
  }
  if (query !== null) url.query = encodeQuery(query, url);
  if (fragment !== null) url.fragment = percentEncode(fragment, FRAGMENT_SET);
  return url;
}

function parseAfterScheme(
  url: UrlRecord,
  rest: string,
  query: string | null,
  base: UrlRecord | null,
  followed: boolean,
): void {
  if (url.scheme === 'file') parseFile(url, rest, query, base?.scheme === 'file' ? base : null);
  else if (isSpecial(url)) {
    if (base?.scheme === url.scheme && !rest.startsWith('//')) parseRelative(url, rest, query, base);
    else parseAuthority(url, rest.replace(/^[/\\]+/, ''));
  } else if (rest.startsWith('//')) parseAuthority(url, rest.slice(2));
  else if (rest[0] === '/') appendPath(url, rest.slice(1));
  else url.path = percentEncode(rest, CONTROL_SET).replace(/ $/, followed ? '%20' : ' ');
}

function parseRelative(url: UrlRecord, rest: string, query: string | null, base: UrlRecord): void {
  if (url.scheme === 'file') {
    parseFile(url, rest, query, base);
    return;
  }
  if (isSlash(url, rest[0]) && isSlash(url, rest[1])) {
    parseAuthority(url, isSpecial(url) ? rest.replace(/^[/\\]+/, '') : rest.slice(2));
    return;
  }
  url.username = base.username;
  url.password = base.password;
  url.host = base.host;
  url.port = base.port;
  if (isSlash(url, rest[0])) appendPath(url, rest.slice(1));
  else parseRelativePath(url, rest, query, base);
}

function parseRelativePath(url: UrlRecord, rest: string, query: string | null, base: UrlRecord): void {
  url.path = typeof base.path === 'string' ? base.path : [...base.path];
  if (rest !== '') {
    shorten(url);
    appendPath(url, rest);
  } else if (query === null) url.query = base.query;
}

function parseFile(url: UrlRecord, rest: string, query: string | null, base: UrlRecord | null): void {
  url.host = '';
  if (isSlash(url, rest[0]) && isSlash(url, rest[1])) parseFileHost(url, rest.slice(2));
  else if (isSlash(url, rest[0])) {
    if (base !== null) {
      url.host = base.host;
      const drive = base.path[0];
      if (!startsWithDrive(rest.slice(1)) && drive !== undefined && /^[a-zA-Z]:$/.test(drive)) url.path = [drive];
    }
    appendPath(url, rest.slice(1));
  } else if (base === null) appendPath(url, rest);
  else {
    url.host = base.host;
    if (startsWithDrive(rest)) appendPath(url, rest);
    else parseRelativePath(url, rest, query, base);
  }
}

function parseFileHost(url: UrlRecord, text: string): void {
  const end = firstSlash(url, text);
  const name = text.slice(0, end);
  if (/^[a-zA-Z][:|]$/.test(name)) {
    appendPath(url, text);
    return;
  }
  const host = name === '' ? '' : parseHost(name, true);
  url.host = host === 'localhost' ? '' : host;
  parsePathStart(url, text.slice(end));
}

function parseAuthority(url: UrlRecord, text: string): void {
  const end = firstSlash(url, text);
  const authority = text.slice(0, end);
  const at = authority.lastIndexOf('@');
  if (at >= 0) {
    if (at === authority.length - 1) throw INVALID;
    const [username, password] = cut(authority.slice(0, at), ':');
    url.username = percentEncode(username, USERINFO_SET);
    url.password = percentEncode(password ?? '', USERINFO_SET);
  }
  const [name, port] = cutHost(authority.slice(at + 1));
  if (name === '' && (port !== null || isSpecial(url))) throw INVALID;
  url.host = parseHost(name, isSpecial(url));
  if (port !== null) url.port = parsePort(port, url);
  parsePathStart(url, text.slice(end));
}

export function parsePort(text: string, url: UrlRecord): string {
  if (!/^[0-9]*$/.test(text) || Number(text) > 65535) throw INVALID;
  const port = text === '' ? '' : String(Number(text));
  return port === DEFAULT_PORTS[url.scheme] ? '' : port;
}

export function parsePathStart(url: UrlRecord, text: string): void {
  if (isSlash(url, text[0])) appendPath(url, text.slice(1));
  else if (text !== '' || isSpecial(url)) appendPath(url, text);
}

function appendPath(url: UrlRecord, text: string): void {
  const path = url.path as string[];
  const segments = isSpecial(url) ? text.split(/[/\\]/) : text.split('/');
  const last = segments.length - 1;
  for (let at = 0; at <= last; at++) {
    let segment = percentEncode(segments[at]!, PATH_SET);
    if (/^(?:\.|%2e){2}$/i.test(segment)) {
      shorten(url);
      segment = '';
      if (at < last) continue;
    } else if (/^(?:\.|%2e)$/i.test(segment)) {
      segment = '';
      if (at < last) continue;
    } else if (url.scheme === 'file' && path.length === 0 && /^[a-zA-Z][:|]$/.test(segment)) {
      segment = `${segment[0]}:`;
    }
    path.push(segment);
  }
}

function shorten(url: UrlRecord): void {
  const path = url.path as string[];
  const onlyDrive = url.scheme === 'file' && path.length === 1 && /^[a-zA-Z]:$/.test(path[0]!);
  if (!onlyDrive) path.pop();
}

export function encodeQuery(text: string, url: UrlRecord): string {
  return percentEncode(text, isSpecial(url) ? SPECIAL_QUERY_SET : QUERY_SET);
}

export function isSpecial(url: UrlRecord): boolean {
  return DEFAULT_PORTS[url.scheme] !== undefined;
}

function isSlash(url: UrlRecord, character: string | undefined): boolean {
  return character === '/' || (character === '\\' && isSpecial(url));
}

function firstSlash(url: UrlRecord, text: string): number {
  const at = text.search(isSpecial(url) ? /[/\\]/ : /\//);
  return at < 0 ? text.length : at;
}

function startsWithDrive(text: string): boolean {
  return /^[a-zA-Z][:|](?:[/\\]|$)/.test(text);
}

/** The parts before and after the first mark; the second part is null if the text does not contain the mark. */
export function cut(text: string, mark: string): [string, string | null] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}

/** Splits a host from its port at the first colon outside brackets. */
export function cutHost(text: string): [string, string | null] {
  let inside = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '[') inside = true;
    else if (text[at] === ']') inside = false;
    else if (text[at] === ':' && !inside) return [text.slice(0, at), text.slice(at + 1)];
  }
  return [text, null];
}

function trimControls(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start]! <= ' ') start++;
  while (end > start && text[end - 1]! <= ' ') end--;
  return text.slice(start, end);
}

export function wellFormedText(value: unknown): string {
  return `${value}`.toWellFormed();
}

export function withoutNewlines(text: string): string {
  return text.replace(/[\t\n\r]/g, '');
}

// --- serializing ---

export function serialize(url: UrlRecord): string {
  const path = serializePath(url);
  let text = `${url.scheme}:`;
  if (url.host !== null) {
    const password = url.password === '' ? '' : `:${url.password}`;
    const credentials = url.username + password === '' ? '' : `${url.username}${password}@`;
    text += `//${credentials}${url.host}${url.port === '' ? '' : `:${url.port}`}`;
  } else if (typeof url.path !== 'string' && url.path.length > 1 && url.path[0] === '') text += '/.';
  text += path;
  if (url.query !== null) text += `?${url.query}`;
  if (url.fragment !== null) text += `#${url.fragment}`;
  return text;
}

export function serializePath(url: UrlRecord): string {
  return typeof url.path === 'string' ? url.path : url.path.map((segment) => `/${segment}`).join('');
}

export function urlOrigin(url: UrlRecord): string {
  if (url.scheme === 'blob') {
    const inner = parseWithBase(serializePath(url), undefined);
    return inner !== null && /^https?$/.test(inner.scheme) ? urlOrigin(inner) : 'null';
  }
  if (!isSpecial(url) || url.scheme === 'file') return 'null';
  return `${url.scheme}://${url.host}${url.port === '' ? '' : `:${url.port}`}`;
}
