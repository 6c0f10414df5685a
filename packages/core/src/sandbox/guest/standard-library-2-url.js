// The guest's standard library: URL and URLSearchParams as the URL standard (url.spec.whatwg.org) has them.
//
// The standard describes one machine over code points. Its outcome can be had piece by piece, because '#' and '?'
// end every earlier part: cut off fragment and query, then read scheme, authority and path from what is left.
// A part that cannot be read throws INVALID, which never leaves this file.
//
// Differs from the standard for hosts that are not ASCII: instead of the tables of UTS 46 they are mapped by NFKC
// and lower case and written in Punycode, and labels that begin with "xn--" are taken as they are.
(function () {
  'use strict';

  const { Array, Math, Number, Object, Reflect, String, Symbol, TextDecoder, TypeError, Uint8Array } = globalThis;
  const { decodeURIComponent, encodeURIComponent, parseInt } = globalThis;

  const INVALID = Object.freeze({});
  const DEFAULT_PORTS = { __proto__: null, 'http': '80', 'https': '443', 'ws': '80', 'wss': '443', 'ftp': '21', 'file': '' };

  // Runs of what is percent-encoded where. Lone surrogates count as U+FFFD.
  const CONTROL_SET = /[^\x20-\x7e]+/gu;
  const FRAGMENT_SET = /[^!#-;=?-_a-~]+/gu;
  const QUERY_SET = /[^!$-;=?-~]+/gu;
  const SPECIAL_QUERY_SET = /[^!$-&(-;=?-~]+/gu;
  const PATH_SET = /[^!$-;=@-\]_a-z|~]+/gu;
  const USERINFO_SET = /[^!$-.0-9A-Z_a-z~]+/gu;
  const PUNYCODE_DIGITS = 'abcdefghijklmnopqrstuvwxyz0123456789';
  const FORBIDDEN_IN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/;
  const FORBIDDEN_IN_DOMAIN = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

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

  function wellFormed(value) {
    return `${value}`.toWellFormed();
  }

  function withoutMark(text) {
    return text[0] === '?' ? text.slice(1) : text;
  }

  function withoutNewlines(text) {
    return text.replace(/[\t\n\r]/g, '');
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

  // --- percent-encoding ---

  function percentEncode(text, set) {
    return text.replace(set, encodeRun);
  }

  // The engine's own function is fast, and leaves alone a few characters that the sets do not.
  function encodeRun(run) {
    return encodeURIComponent(run.toWellFormed()).replace(/[!'()~]/g, encodeMark);
  }

  function encodeMark(mark) {
    return `%${mark.charCodeAt().toString(16).toUpperCase()}`;
  }

  function percentDecode(text) {
    return text.includes('%') ? text.replace(/(?:%[0-9A-Fa-f]{2})+/g, decodeRun) : text;
  }

  function decodeRun(run) {
    try {
      return decodeURIComponent(run);
    } catch {
      const bytes = Uint8Array.from(run.slice(1).split('%'), (pair) => parseInt(pair, 16));
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    }
  }

  // --- parsing ---

  function parseOrThrow(address, base) {
    const record = parseWithBase(address, base);
    if (record !== null) return record;
    const short = `${address}`.slice(0, 200);
    throw new TypeError(base === undefined ? `Invalid URL: "${short}"` : `Invalid URL: "${short}" with the base "${base}"`);
  }

  function parseWithBase(address, base) {
    const text = wellFormed(address);
    try {
      return parse(text, base === undefined ? null : parse(wellFormed(base), null));
    } catch (error) {
      if (error !== INVALID) throw error;
      return null;
    }
  }

  // A record's path is a list of segments, or text when it is opaque ("mailto:a@b"). host is null where there is none.
  function parse(text, base) {
    const url = { scheme: '', username: '', password: '', host: null, port: '', path: [], query: null, fragment: null };
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

  function parseAfterScheme(url, rest, query, base, followed) {
    if (url.scheme === 'file') parseFile(url, rest, query, base?.scheme === 'file' ? base : null);
    else if (isSpecial(url)) {
      if (base?.scheme === url.scheme && !rest.startsWith('//')) parseRelative(url, rest, query, base);
      else parseAuthority(url, rest.replace(/^[/\\]+/, ''));
    } else if (rest.startsWith('//')) parseAuthority(url, rest.slice(2));
    else if (rest[0] === '/') appendPath(url, rest.slice(1));
    else url.path = percentEncode(rest, CONTROL_SET).replace(/ $/, followed ? '%20' : ' ');
  }

  function parseRelative(url, rest, query, base) {
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

  function parseRelativePath(url, rest, query, base) {
    url.path = typeof base.path === 'string' ? base.path : [...base.path];
    if (rest !== '') {
      shorten(url);
      appendPath(url, rest);
    } else if (query === null) url.query = base.query;
  }

  function parseFile(url, rest, query, base) {
    url.host = '';
    if (isSlash(url, rest[0]) && isSlash(url, rest[1])) parseFileHost(url, rest.slice(2));
    else if (isSlash(url, rest[0])) {
      if (base !== null) {
        url.host = base.host;
        const drive = base.path[0];
        if (!startsWithDrive(rest.slice(1)) && drive !== undefined && /^[a-zA-Z]:$/.test(drive)) url.path.push(drive);
      }
      appendPath(url, rest.slice(1));
    } else if (base === null) appendPath(url, rest);
    else {
      url.host = base.host;
      if (startsWithDrive(rest)) appendPath(url, rest);
      else parseRelativePath(url, rest, query, base);
    }
  }

  function parseFileHost(url, text) {
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

  function parseAuthority(url, text) {
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

  function parsePort(text, url) {
    if (!/^[0-9]*$/.test(text) || Number(text) > 65535) throw INVALID;
    const port = text === '' ? '' : String(Number(text));
    return port === DEFAULT_PORTS[url.scheme] ? '' : port;
  }

  function parsePathStart(url, text) {
    if (isSlash(url, text[0])) appendPath(url, text.slice(1));
    else if (text !== '' || isSpecial(url)) appendPath(url, text);
  }

  function appendPath(url, text) {
    const segments = isSpecial(url) ? text.split(/[/\\]/) : text.split('/');
    const last = segments.length - 1;
    for (let at = 0; at <= last; at++) {
      let segment = percentEncode(segments[at], PATH_SET);
      if (/^(?:\.|%2e){2}$/i.test(segment)) {
        shorten(url);
        segment = '';
        if (at < last) continue;
      } else if (/^(?:\.|%2e)$/i.test(segment)) {
        segment = '';
        if (at < last) continue;
      } else if (url.scheme === 'file' && url.path.length === 0 && /^[a-zA-Z][:|]$/.test(segment)) {
        segment = `${segment[0]}:`;
      }
      url.path.push(segment);
    }
  }

  function shorten(url) {
    const onlyDrive = url.scheme === 'file' && url.path.length === 1 && /^[a-zA-Z]:$/.test(url.path[0]);
    if (!onlyDrive) url.path.pop();
  }

  function encodeQuery(text, url) {
    return percentEncode(text, isSpecial(url) ? SPECIAL_QUERY_SET : QUERY_SET);
  }

  function isSpecial(url) {
    return DEFAULT_PORTS[url.scheme] !== undefined;
  }

  function isSlash(url, character) {
    return character === '/' || (character === '\\' && isSpecial(url));
  }

  function firstSlash(url, text) {
    const at = text.search(isSpecial(url) ? /[/\\]/ : /\//);
    return at < 0 ? text.length : at;
  }

  function startsWithDrive(text) {
    return /^[a-zA-Z][:|](?:[/\\]|$)/.test(text);
  }

  function cut(text, mark) {
    const at = text.indexOf(mark);
    return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
  }

  // The port's colon is the first one outside brackets.
  function cutHost(text) {
    let inside = false;
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '[') inside = true;
      else if (text[at] === ']') inside = false;
      else if (text[at] === ':' && !inside) return [text.slice(0, at), text.slice(at + 1)];
    }
    return [text, null];
  }

  function trimControls(text) {
    let start = 0;
    let end = text.length;
    while (start < end && text[start] <= ' ') start++;
    while (end > start && text[end - 1] <= ' ') end--;
    return text.slice(start, end);
  }

  // --- hosts ---

  function parseHost(text, special) {
    if (text[0] === '[') {
      if (text.at(-1) !== ']') throw INVALID;
      return `[${serializeIpv6(parseIpv6(text.slice(1, -1)))}]`;
    }
    if (!special) {
      if (FORBIDDEN_IN_HOST.test(text)) throw INVALID;
      return percentEncode(text, CONTROL_SET);
    }
    const domain = toAscii(percentDecode(text));
    if (domain === '' || FORBIDDEN_IN_DOMAIN.test(domain)) throw INVALID;
    const parts = domain.split('.');
    if (parts.length > 1 && parts.at(-1) === '') parts.pop();
    return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(parts.at(-1)) ? parseIpv4(parts) : domain;
  }

  function parseIpv4(parts) {
    if (parts.length > 4) throw INVALID;
    const numbers = parts.map(parseIpv4Number);
    const last = numbers.pop();
    if (last >= 256 ** (4 - numbers.length) || numbers.some((number) => number > 255)) throw INVALID;
    const address = numbers.reduce((sum, number, at) => sum + number * 256 ** (3 - at), last);
    return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
  }

  function parseIpv4Number(text) {
    if (/^0x[0-9a-f]*$/.test(text)) return text === '0x' ? 0 : parseInt(text, 16);
    if (/^0[0-7]+$/.test(text)) return parseInt(text, 8);
    if (!/^(?:0|[1-9][0-9]*)$/.test(text)) throw INVALID;
    return Number(text);
  }

  function parseIpv6(text) {
    const halves = text.split('::');
    if (halves.length > 2) throw INVALID;
    const [head, tail] = halves.map((half, at) => ipv6Pieces(half, at === halves.length - 1));
    if (tail === undefined) {
      if (head.length !== 8) throw INVALID;
      return head;
    }
    if (head.length + tail.length > 7) throw INVALID;
    return [...head, ...new Array(8 - head.length - tail.length).fill(0), ...tail];
  }

  function ipv6Pieces(half, isLast) {
    if (half === '') return [];
    const texts = half.split(':');
    const dotted = isLast && texts.at(-1).includes('.') ? ipv6Dotted(texts.pop()) : [];
    return [...texts.map(ipv6Piece), ...dotted];
  }

  function ipv6Piece(text) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(text)) throw INVALID;
    return parseInt(text, 16);
  }

  function ipv6Dotted(text) {
    if (!/^(?:(?:0|[1-9][0-9]{0,2})(?:\.|$)){4}$/.test(text) || text.endsWith('.')) throw INVALID;
    const [a, b, c, d] = text.split('.').map(Number);
    if (Math.max(a, b, c, d) > 255) throw INVALID;
    return [a * 256 + b, c * 256 + d];
  }

  function serializeIpv6(pieces) {
    let [start, length] = [8, 1];
    for (let at = 0; at < 8; at++) {
      let run = 0;
      while (pieces[at + run] === 0) run++;
      if (run > length) [start, length] = [at, run];
    }
    const write = (part) => part.map((piece) => piece.toString(16)).join(':');
    if (start === 8) return write(pieces);
    return `${write(pieces.slice(0, start))}::${write(pieces.slice(start + length))}`;
  }

  function toAscii(domain) {
    if (!/[^\0-\x7f]/.test(domain)) return domain.toLowerCase();
    const ignored = domain.replace(/[\xad\u200b\u2060\ufeff]/g, '').replace(/[\u3002\uff0e\uff61]/g, '.');
    const mapped = ignored.normalize('NFKC').toLowerCase().normalize('NFC');
    if (/[\ufffd\p{C}]/u.test(mapped)) throw INVALID;
    const labels = mapped.split('.');
    return labels.map((label) => (/[^\0-\x7f]/.test(label) ? `xn--${punycode(label)}` : label)).join('.');
  }

  // RFC 3492, section 6.3.
  function punycode(label) {
    const points = Array.from(label, (character) => character.codePointAt());
    let output = label.replace(/[^\0-\x7f]/gu, '');
    const basic = output.length;
    let handled = basic;
    if (basic > 0) output += '-';
    let [next, delta, bias] = [128, 0, 72];
    while (handled < points.length) {
      const least = Math.min(...points.filter((point) => point >= next));
      delta += (least - next) * (handled + 1);
      next = least;
      for (const point of points) {
        if (point < next) delta++;
        if (point !== next) continue;
        output += variableLength(delta, bias);
        bias = adaptBias(delta, handled + 1, handled === basic);
        delta = 0;
        handled++;
      }
      delta++;
      next++;
    }
    return output;
  }

  function variableLength(delta, bias) {
    let digits = '';
    let rest = delta;
    for (let base = 36; ; base += 36) {
      const threshold = Math.min(26, Math.max(1, base - bias));
      if (rest < threshold) return digits + PUNYCODE_DIGITS[rest];
      digits += PUNYCODE_DIGITS[threshold + ((rest - threshold) % (36 - threshold))];
      rest = Math.floor((rest - threshold) / (36 - threshold));
    }
  }

  function adaptBias(delta, count, first) {
    let scaled = Math.floor(delta / (first ? 700 : 2));
    scaled += Math.floor(scaled / count);
    let base = 0;
    for (; scaled > 455; base += 36) scaled = Math.floor(scaled / 35);
    return base + Math.floor((36 * scaled) / (scaled + 38));
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

  // --- serializing ---

  function serialize(url) {
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

  function serializePath(url) {
    return typeof url.path === 'string' ? url.path : url.path.map((segment) => `/${segment}`).join('');
  }

  function originOf(url) {
    if (url.scheme === 'blob') {
      const inner = parseWithBase(serializePath(url), undefined);
      return inner !== null && /^https?$/.test(inner.scheme) ? originOf(inner) : 'null';
    }
    if (!isSpecial(url) || url.scheme === 'file') return 'null';
    return `${url.scheme}://${url.host}${url.port === '' ? '' : `:${url.port}`}`;
  }
})();
