// The hosts of URLs.
//
// This parser differs from the standard (url.spec.whatwg.org) in two ways. It maps hosts that are not ASCII by NFKC and
// lower case instead of the tables of UTS 46. It does not validate labels that begin with "xn--".
import { Array, Math, Number, parseInt } from '../../primordials.js';
import { CONTROL_SET, INVALID, percentDecode, percentEncode } from './percent-encoding.js';

const PUNYCODE_DIGITS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const FORBIDDEN_IN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const FORBIDDEN_IN_DOMAIN = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

/** Throws INVALID for an invalid host. `isSpecial`: the hosts of the URL's scheme are domains or addresses. */
export function parseHost(text: string, isSpecial: boolean): string {
  if (text[0] === '[') {
    if (text.at(-1) !== ']') throw INVALID;
    return `[${serializeIpv6(parseIpv6(text.slice(1, -1)))}]`;
  }
  if (!isSpecial) {
    if (FORBIDDEN_IN_HOST.test(text)) throw INVALID;
    return percentEncode(text, CONTROL_SET);
  }
  const domain = toAscii(percentDecode(text));
  if (domain === '' || FORBIDDEN_IN_DOMAIN.test(domain)) throw INVALID;
  const parts = domain.split('.');
  if (parts.length > 1 && parts.at(-1) === '') parts.pop();
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(parts.at(-1)!) ? parseIpv4(parts) : domain;
}

function parseIpv4(parts: readonly string[]): string {
  if (parts.length > 4) throw INVALID;
  const numbers = parts.map(parseIpv4Number);
  const last = numbers.pop()!;
  if (last >= 256 ** (4 - numbers.length) || numbers.some((number) => number > 255)) throw INVALID;
  const address = numbers.reduce((sum, number, at) => sum + number * 256 ** (3 - at), last);
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}

function parseIpv4Number(text: string): number {
  if (/^0x[0-9a-f]*$/.test(text)) return text === '0x' ? 0 : parseInt(text, 16);
  if (/^0[0-7]+$/.test(text)) return parseInt(text, 8);
  if (!/^(?:0|[1-9][0-9]*)$/.test(text)) throw INVALID;
  return Number(text);
}

function parseIpv6(text: string): number[] {
  const halves = text.split('::');
  if (halves.length > 2) throw INVALID;
  const [head = [], tail] = halves.map((half, at) => ipv6Pieces(half, at === halves.length - 1));
  if (tail === undefined) {
    if (head.length !== 8) throw INVALID;
    return head;
  }
  if (head.length + tail.length > 7) throw INVALID;
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function ipv6Pieces(half: string, isLast: boolean): number[] {
  if (half === '') return [];
  const texts = half.split(':');
  const dotted = isLast && texts.at(-1)!.includes('.') ? ipv6Dotted(texts.pop()!) : [];
  return [...texts.map(ipv6Piece), ...dotted];
}

function ipv6Piece(text: string): number {
  if (!/^[0-9a-fA-F]{1,4}$/.test(text)) throw INVALID;
  return parseInt(text, 16);
}

function ipv6Dotted(text: string): number[] {
  if (!/^(?:(?:0|[1-9][0-9]{0,2})(?:\.|$)){4}$/.test(text) || text.endsWith('.')) throw INVALID;
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  if (Math.max(a, b, c, d) > 255) throw INVALID;
  return [a * 256 + b, c * 256 + d];
}

function serializeIpv6(pieces: readonly number[]): string {
  let [start, length] = [8, 1];
  for (let at = 0; at < 8; at++) {
    let run = 0;
    while (pieces[at + run] === 0) run++;
    if (run > length) [start, length] = [at, run];
  }
  if (start === 8) return hexadecimal(pieces);
  return `${hexadecimal(pieces.slice(0, start))}::${hexadecimal(pieces.slice(start + length))}`;
}

function hexadecimal(pieces: readonly number[]): string {
  return pieces.map((piece) => piece.toString(16)).join(':');
}

function toAscii(domain: string): string {
  if (!/[^\0-\x7f]/.test(domain)) return domain.toLowerCase();
  const ignored = domain.replace(/[\xad\u200b\u2060\ufeff]/g, '').replace(/[\u3002\uff0e\uff61]/g, '.');
  const mapped = ignored.normalize('NFKC').toLowerCase().normalize('NFC');
  if (/[\ufffd\p{C}]/u.test(mapped)) throw INVALID;
  const labels = mapped.split('.');
  return labels.map((label) => (/[^\0-\x7f]/.test(label) ? `xn--${punycode(label)}` : label)).join('.');
}

// Encodes a label as RFC 3492, section 6.3, defines.
function punycode(label: string): string {
  const points = Array.from(label, (character) => character.codePointAt(0)!);
  let output = label.replace(/[^\0-\x7f]/gu, '');
  const basic = output.length;
  let handled = basic;
  if (basic > 0) output += '-';
  let [next, delta, bias] = [128, 0, 72];
  while (handled < points.length) {
    const smallest = points.reduce((found, point) => (point >= next && point < found ? point : found), 0x110000);
    delta += (smallest - next) * (handled + 1);
    next = smallest;
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

function variableLength(delta: number, bias: number): string {
  let digits = '';
  let rest = delta;
  for (let base = 36; ; base += 36) {
    const threshold = Math.min(26, Math.max(1, base - bias));
    if (rest < threshold) return digits + PUNYCODE_DIGITS[rest];
    digits += PUNYCODE_DIGITS[threshold + ((rest - threshold) % (36 - threshold))];
    rest = Math.floor((rest - threshold) / (36 - threshold));
  }
}

function adaptBias(delta: number, count: number, first: boolean): number {
  let scaled = Math.floor(delta / (first ? 700 : 2));
  scaled += Math.floor(scaled / count);
  let base = 0;
  for (; scaled > 455; base += 36) scaled = Math.floor(scaled / 35);
  return base + Math.floor((36 * scaled) / (scaled + 38));
}
