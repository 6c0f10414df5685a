// The setters of the class URL. An invalid value changes nothing; a valid host with an invalid port changes only the
// host.
import { parseHost } from './hosts.js';
import { INVALID } from './percent-encoding.js';
import {
  cutHost,
  DEFAULT_PORTS,
  isSpecial,
  parsePathStart,
  parsePort,
  withoutNewlines,
  type UrlRecord,
} from './records.js';

export function mayHavePort(url: UrlRecord): boolean {
  return url.host !== null && url.host !== '' && url.scheme !== 'file';
}

function attempt(change: () => void): void {
  try {
    change();
  } catch (error) {
    if (error !== INVALID) throw error;
  }
}

export function changeScheme(url: UrlRecord, value: string): void {
  const scheme = /^[a-zA-Z][a-zA-Z0-9+\-.]*(?=:)/.exec(`${withoutNewlines(value)}:`)?.[0].toLowerCase();
  if (scheme === undefined || (DEFAULT_PORTS[scheme] === undefined) === isSpecial(url)) return;
  if (scheme === 'file' && (url.username !== '' || url.password !== '' || url.port !== '')) return;
  if (url.scheme === 'file' && url.host === '') return;
  url.scheme = scheme;
  if (url.port === DEFAULT_PORTS[scheme]) url.port = '';
}

export function changeHost(url: UrlRecord, value: string, withPort: boolean): void {
  if (typeof url.path === 'string') return;
  const text = withoutNewlines(value);
  const end = text.search(isSpecial(url) ? /[/\\?#]/ : /[/?#]/);
  const authority = end < 0 ? text : text.slice(0, end);
  attempt(() => {
    if (url.scheme === 'file') {
      const host = authority === '' ? '' : parseHost(authority, true);
      url.host = host === 'localhost' ? '' : host;
      return;
    }
    const [name, port] = cutHost(authority);
    if (name === '' && (isSpecial(url) || port !== null || url.username + url.password + url.port !== '')) return;
    if (port !== null && !withPort) return;
    url.host = parseHost(name, isSpecial(url));
    if (port !== null && port !== '') changePort(url, port);
  });
}

export function changePort(url: UrlRecord, value: string): void {
  const digits = /^[0-9]*/.exec(withoutNewlines(value))![0];
  if (value === '') url.port = '';
  else if (digits !== '') {
    attempt(() => {
      url.port = parsePort(digits, url);
    });
  }
}

export function changePath(url: UrlRecord, value: string): void {
  if (typeof url.path === 'string') return;
  const text = withoutNewlines(value);
  url.path = [];
  if (text === '' && !isSpecial(url) && url.host === null) url.path.push('');
  else parsePathStart(url, text);
}
