// The guest's standard library: URL and URLSearchParams as the URL standard (url.spec.whatwg.org) has them.
(function () {
  'use strict';

  const { Array, Object, Reflect, Symbol, TypeError } = globalThis;
  const { INVALID, DEFAULT_PORTS, FRAGMENT_SET, USERINFO_SET } = globalThis.urlGround;
  const { encodeRun, percentEncode, percentDecode, parseHost } = globalThis.urlGround;
  const { parseOrThrow, parseWithBase, parsePort, parsePathStart, encodeQuery } = globalThis.urlGround;
  const { isSpecial, cut, cutHost, wellFormed, withoutNewlines } = globalThis.urlGround;
  const { serialize, serializePath, originOf } = globalThis.urlGround;
  delete globalThis.urlGround;

  // Set inside URLSearchParams: the only road to its private list.
  let replaceList;
  let onListChange;

  class URLSearchParams {
    #list = [];
    #changed = null;

    static {
      replaceList = (parameters, list) => {
        parameters.#list = list;
      };
      onListChange = (parameters, changed) => {
        parameters.#changed = changed;
      };
    }

    constructor(init = '') {
      this.#list = typeof init === 'object' ? listOf(init ?? {}) : parseForm(withoutMark(wellFormed(init)));
    }

    get size() {
      return this.#list.length;
    }

    append(name, value) {
      requireArguments(arguments, 2, 'append');
      this.#list.push([wellFormed(name), wellFormed(value)]);
      this.#update();
    }

    delete(name, value) {
      requireArguments(arguments, 1, 'delete');
      const unwanted = matcher(name, value);
      this.#list = this.#list.filter((pair) => !unwanted(pair));
      this.#update();
    }

    get(name) {
      requireArguments(arguments, 1, 'get');
      return this.#list.find(matcher(name))?.[1] ?? null;
    }

    getAll(name) {
      requireArguments(arguments, 1, 'getAll');
      return this.#list.filter(matcher(name)).map((pair) => pair[1]);
    }

    has(name, value) {
      requireArguments(arguments, 1, 'has');
      return this.#list.some(matcher(name, value));
    }

    set(name, value) {
      requireArguments(arguments, 2, 'set');
      const pair = [wellFormed(name), wellFormed(value)];
      const first = this.#list.findIndex(matcher(name));
      if (first < 0) this.#list.push(pair);
      else this.#list = this.#list.filter((other, at) => at <= first || other[0] !== pair[0]).with(first, pair);
      this.#update();
    }

    sort() {
      this.#list.sort(([first], [second]) => (first < second ? -1 : first > second ? 1 : 0));
      this.#update();
    }

    forEach(callback, thisValue) {
      if (typeof callback !== 'function') throw new TypeError('URLSearchParams.forEach takes a function');
      for (let at = 0; at < this.#list.length; at++) {
        const [name, value] = this.#list[at];
        Reflect.apply(callback, thisValue, [value, name, this]);
      }
    }

    // Live: a pair appended while one iterates is seen.
    *entries() {
      for (let at = 0; at < this.#list.length; at++) yield [...this.#list[at]];
    }

    *keys() {
      for (let at = 0; at < this.#list.length; at++) yield this.#list[at][0];
    }

    *values() {
      for (let at = 0; at < this.#list.length; at++) yield this.#list[at][1];
    }

    toString() {
      return this.#list.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join('&');
    }

    #update() {
      this.#changed?.(this.toString());
    }
  }

  class URL {
    #record;
    #parameters = null;

    constructor(address, base) {
      requireArguments(arguments, 1, 'URL');
      this.#record = parseOrThrow(address, base);
    }

    static canParse(address, base) {
      requireArguments(arguments, 1, 'canParse');
      return parseWithBase(address, base) !== null;
    }

    static parse(address, base) {
      requireArguments(arguments, 1, 'parse');
      return URL.canParse(address, base) ? new URL(address, base) : null;
    }

    get href() {
      return serialize(this.#record);
    }

    set href(value) {
      this.#record = parseOrThrow(value);
      this.#refreshParameters();
    }

    get origin() {
      return originOf(this.#record);
    }

    get protocol() {
      return `${this.#record.scheme}:`;
    }

    set protocol(value) {
      changeScheme(this.#record, wellFormed(value));
    }

    get username() {
      return this.#record.username;
    }

    set username(value) {
      const encoded = percentEncode(wellFormed(value), USERINFO_SET);
      if (mayHavePort(this.#record)) this.#record.username = encoded;
    }

    get password() {
      return this.#record.password;
    }

    set password(value) {
      const encoded = percentEncode(wellFormed(value), USERINFO_SET);
      if (mayHavePort(this.#record)) this.#record.password = encoded;
    }

    get host() {
      const { host, port } = this.#record;
      return port === '' ? (host ?? '') : `${host}:${port}`;
    }

    set host(value) {
      changeHost(this.#record, wellFormed(value), true);
    }

    get hostname() {
      return this.#record.host ?? '';
    }

    set hostname(value) {
      changeHost(this.#record, wellFormed(value), false);
    }

    get port() {
      return this.#record.port;
    }

    set port(value) {
      const text = wellFormed(value);
      if (mayHavePort(this.#record)) changePort(this.#record, text);
    }

    get pathname() {
      return serializePath(this.#record);
    }

    set pathname(value) {
      changePath(this.#record, wellFormed(value));
    }

    get search() {
      return this.#record.query ? `?${this.#record.query}` : '';
    }

    set search(value) {
      const given = wellFormed(value);
      const text = withoutNewlines(withoutMark(given));
      this.#record.query = given === '' ? null : encodeQuery(text, this.#record);
      this.#refreshParameters();
    }

    get searchParams() {
      if (this.#parameters === null) {
        this.#parameters = new URLSearchParams(this.search);
        onListChange(this.#parameters, (query) => {
          this.#record.query = query === '' ? null : query;
        });
      }
      return this.#parameters;
    }

    get hash() {
      return this.#record.fragment ? `#${this.#record.fragment}` : '';
    }

    set hash(value) {
      const given = wellFormed(value);
      const text = withoutNewlines(given[0] === '#' ? given.slice(1) : given);
      this.#record.fragment = given === '' ? null : percentEncode(text, FRAGMENT_SET);
    }

    toString() {
      return this.href;
    }

    toJSON() {
      return this.href;
    }

    #refreshParameters() {
      if (this.#parameters !== null) replaceList(this.#parameters, parseForm(this.#record.query ?? ''));
    }
  }

  Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
    value: URLSearchParams.prototype.entries,
    writable: true,
    configurable: true,
  });
  for (const Type of [URL, URLSearchParams]) {
    Object.defineProperty(Type.prototype, Symbol.toStringTag, { value: Type.name, configurable: true });
    Object.defineProperty(globalThis, Type.name, {
      value: Type,
      writable: true,
      configurable: true,
      enumerable: false,
    });
  }

  function requireArguments(given, count, name) {
    if (given.length >= count) return;
    throw new TypeError(`${name} takes ${count} argument${count === 1 ? '' : 's'} at least, not ${given.length}`);
  }

  function withoutMark(text) {
    return text[0] === '?' ? text.slice(1) : text;
  }

  // --- application/x-www-form-urlencoded ---

  function listOf(init) {
    const iterate = init[Symbol.iterator];
    if (iterate === undefined || iterate === null) {
      return Object.keys(init).map((name) => [wellFormed(name), wellFormed(init[name])]);
    }
    return Array.from(init, (entry) => {
      const pair = typeof entry === 'object' && entry !== null ? Array.from(entry) : [];
      if (pair.length !== 2) {
        throw new TypeError('URLSearchParams takes text, an object, or a list of pairs of a name and a value');
      }
      return pair.map(wellFormed);
    });
  }

  function parseForm(text) {
    const list = [];
    for (const piece of text.split('&')) {
      if (piece === '') continue;
      const [name, value] = cut(piece.replaceAll('+', ' '), '=');
      list.push([percentDecode(name), percentDecode(value ?? '')]);
    }
    return list;
  }

  function encodeForm(text) {
    return encodeRun(text).replaceAll('%20', '+');
  }

  function matcher(name, value) {
    const wantedName = wellFormed(name);
    if (value === undefined) return (pair) => pair[0] === wantedName;
    const wantedValue = wellFormed(value);
    return (pair) => pair[0] === wantedName && pair[1] === wantedValue;
  }

  // --- setters ---

  function mayHavePort(url) {
    return url.host !== null && url.host !== '' && url.scheme !== 'file';
  }

  function attempt(change) {
    try {
      change();
    } catch (error) {
      if (error !== INVALID) throw error;
    }
  }

  function changeScheme(url, value) {
    const scheme = /^[a-zA-Z][a-zA-Z0-9+\-.]*(?=:)/.exec(`${withoutNewlines(value)}:`)?.[0].toLowerCase();
    if (scheme === undefined || (DEFAULT_PORTS[scheme] === undefined) === isSpecial(url)) return;
    if (scheme === 'file' && (url.username !== '' || url.password !== '' || url.port !== '')) return;
    if (url.scheme === 'file' && url.host === '') return;
    url.scheme = scheme;
    if (url.port === DEFAULT_PORTS[scheme]) url.port = '';
  }

  function changeHost(url, value, withPort) {
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

  function changePort(url, value) {
    const digits = /^[0-9]*/.exec(withoutNewlines(value))[0];
    if (value === '') url.port = '';
    else if (digits !== '') {
      attempt(() => {
        url.port = parsePort(digits, url);
      });
    }
  }

  function changePath(url, value) {
    if (typeof url.path === 'string') return;
    const text = withoutNewlines(value);
    url.path = [];
    if (text === '' && !isSpecial(url) && url.host === null) url.path.push('');
    else parsePathStart(url, text);
  }
})();
