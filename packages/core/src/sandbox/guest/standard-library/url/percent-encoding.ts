// Percent-encoding, for URLs and forms.
import { decodeURIComponent, encodeURIComponent, Object, parseInt, Uint8Array } from '../../primordials.js';
import { TextDecoder } from '../text-encoding.js';

/** Thrown for an invalid URL, or an invalid part of one. */
export const INVALID = Object.freeze({});
/** Runs of characters that are percent-encoded in hosts and opaque paths. Lone surrogates count as U+FFFD. */
export const CONTROL_SET = /[^\x20-\x7e]+/gu;

export function percentEncode(text: string, set: RegExp): string {
  return text.replace(set, encodeRun);
}

// `encodeURIComponent` is fast, but does not encode a few characters that the sets contain.
export function encodeRun(run: string): string {
  return encodeURIComponent(run.toWellFormed()).replace(/[!'()~]/g, encodeMark);
}

function encodeMark(mark: string): string {
  return `%${mark.charCodeAt(0).toString(16).toUpperCase()}`;
}

export function percentDecode(text: string): string {
  return text.includes('%') ? text.replace(/(?:%[0-9A-Fa-f]{2})+/g, decodeRun) : text;
}

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    const bytes = Uint8Array.from(run.slice(1).split('%'), (pair) => parseInt(pair, 16));
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  }
}
