// URL as the URL standard (url.spec.whatwg.org) defines it.
import { percentEncode } from './percent-encoding.js';
import {
  encodeQuery,
  FRAGMENT_SET,
  urlOrigin,
  parseOrThrow,
  parseWithBase,
  serialize,
  serializePath,
  USERINFO_SET,
  wellFormedText,
  withoutNewlines,
  type UrlRecord,
} from './records.js';
import {
  onListChange,
  parseForm,
  replaceList,
  requireArguments,
  URLSearchParams,
  withoutMark,
} from './search-params.js';
import { changeHost, changePath, changePort, changeScheme, mayHavePort } from './setters.js';

export class URL {
  #record: UrlRecord;
  #parameters: URLSearchParams | null = null;

  constructor(address: unknown, base?: unknown) {
    requireArguments(arguments, 1, 'URL');
    this.#record = parseOrThrow(address, base);
  }

  static canParse(address: unknown, base?: unknown): boolean {
    requireArguments(arguments, 1, 'canParse');
    return parseWithBase(address, base) !== null;
  }

  static parse(address: unknown, base?: unknown): URL | null {
    requireArguments(arguments, 1, 'parse');
    return URL.canParse(address, base) ? new URL(address, base) : null;
  }

  get href(): string {
    return serialize(this.#record);
  }

  set href(value: unknown) {
    this.#record = parseOrThrow(value);
    this.#refreshParameters();
  }

  get origin(): string {
    return urlOrigin(this.#record);
  }

  get protocol(): string {
    return `${this.#record.scheme}:`;
  }

  set protocol(value: unknown) {
    changeScheme(this.#record, wellFormedText(value));
  }

  get username(): string {
    return this.#record.username;
  }

  set username(value: unknown) {
    const encoded = percentEncode(wellFormedText(value), USERINFO_SET);
    if (mayHavePort(this.#record)) this.#record.username = encoded;
  }

  get password(): string {
    return this.#record.password;
  }

  set password(value: unknown) {
    const encoded = percentEncode(wellFormedText(value), USERINFO_SET);
    if (mayHavePort(this.#record)) this.#record.password = encoded;
  }

  get host(): string {
    const { host, port } = this.#record;
    return port === '' ? (host ?? '') : `${host}:${port}`;
  }

  set host(value: unknown) {
    changeHost(this.#record, wellFormedText(value), true);
  }

  get hostname(): string {
    return this.#record.host ?? '';
  }

  set hostname(value: unknown) {
    changeHost(this.#record, wellFormedText(value), false);
  }

  get port(): string {
    return this.#record.port;
  }

  set port(value: unknown) {
    const text = wellFormedText(value);
    if (mayHavePort(this.#record)) changePort(this.#record, text);
  }

  get pathname(): string {
    return serializePath(this.#record);
  }

  set pathname(value: unknown) {
    changePath(this.#record, wellFormedText(value));
  }

  get search(): string {
    return this.#record.query ? `?${this.#record.query}` : '';
  }

  set search(value: unknown) {
    const given = wellFormedText(value);
    const text = withoutNewlines(withoutMark(given));
    this.#record.query = given === '' ? null : encodeQuery(text, this.#record);
    this.#refreshParameters();
  }

  get searchParams(): URLSearchParams {
    if (this.#parameters === null) {
      this.#parameters = new URLSearchParams(this.search);
      onListChange(this.#parameters, (query) => {
        this.#record.query = query === '' ? null : query;
      });
    }
    return this.#parameters;
  }

  get hash(): string {
    return this.#record.fragment ? `#${this.#record.fragment}` : '';
  }

  set hash(value: unknown) {
    const given = wellFormedText(value);
    const text = withoutNewlines(given[0] === '#' ? given.slice(1) : given);
    this.#record.fragment = given === '' ? null : percentEncode(text, FRAGMENT_SET);
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }

  #refreshParameters(): void {
    if (this.#parameters !== null) replaceList(this.#parameters, parseForm(this.#record.query ?? ''));
  }
}
