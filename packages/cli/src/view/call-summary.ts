import { visibleLine } from '../terminal/untrusted.js';
import { counted } from './durations.js';

const MAX_ARGUMENT_LENGTH = 60;

/** The subject of a call in a few safe characters: its first argument, or the files that a patch names. */
export function callSummary(input: unknown): string {
  if (typeof input !== 'object' || input === null) return input === undefined ? '' : short(scalar(input));
  const [first] = Object.values(input);
  return first === undefined ? '' : short(argument(first));
}

function argument(value: unknown): string {
  if (typeof value === 'string') return stringArgument(value);
  if (Array.isArray(value))
    return value.every((one) => typeof one === 'string') ? value.map(word).join(' ') : counted(value.length, 'item');
  return scalar(value);
}

function stringArgument(text: string): string {
  const files = [...text.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ b\/)(.+)$/gmu)].map(
    ([, name]) => name as string,
  );
  if (files.length > 0) return files.join(', ');
  const lines = text.trimEnd().split('\n');
  if (lines.length === 1) return hasBlankEdge(text) ? JSON.stringify(text) : text;
  return `${lines[0]} … (${counted(lines.length, 'line')})`;
}

/** A quoted name shows where it starts and ends. */
function hasBlankEdge(text: string): boolean {
  return text !== text.trim();
}

function word(text: string): string {
  return text === '' || /[\s"']/u.test(text) ? JSON.stringify(text) : text;
}

function scalar(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function short(text: string): string {
  const line = visibleLine(text.slice(0, MAX_ARGUMENT_LENGTH * 4));
  return line.length <= MAX_ARGUMENT_LENGTH ? line : `${line.slice(0, MAX_ARGUMENT_LENGTH - 1)}…`;
}
