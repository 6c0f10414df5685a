import { failure } from '../failure.js';

/*
 * Models wrap a patch in what they would type into a shell or a chat. The wrapping is taken off by simple rules;
 * nothing of it is executed or obeyed.
 */

const HEREDOC = /^(?:(?:apply_patch|applypatch)\s+)?<<-?\s*(['"]?)([A-Za-z_][A-Za-z0-9_]*)\1\s*$/;
const FENCE = /^(`{3,}|~{3,})[^`]*$/;

export const PATCH_EXAMPLE = [
  '*** Begin Patch',
  '*** Update File: src/a.ts',
  '@@',
  '-old line',
  '+new line',
  '*** End Patch',
].join('\n');

/** The patch's own lines and where they begin. */
export interface PatchText {
  readonly lines: readonly string[];
  /** Lines of the given text before `lines[0]`. */
  readonly skipped: number;
}

/** Takes off blank lines, a heredoc and a code fence. CRLF becomes LF: files keep their own line ends. */
export function unwrapPatch(text: string): PatchText {
  let patch = trimBlank({ lines: text.split(/\r?\n/), skipped: 0 });
  for (let wrapped: PatchText | undefined; (wrapped = withoutFence(patch) ?? withoutHeredoc(patch));)
    patch = trimBlank(wrapped);
  refuseOtherFormats(patch.lines);
  return patch;
}

function withoutFence({ lines, skipped }: PatchText): PatchText | undefined {
  const fence = FENCE.exec(lines[0] ?? '')?.[1];
  if (fence === undefined || lines.length < 2 || lines.at(-1)!.trim() !== fence) return undefined;
  return { lines: lines.slice(1, -1), skipped: skipped + 1 };
}

function withoutHeredoc({ lines, skipped }: PatchText): PatchText | undefined {
  const word = HEREDOC.exec((lines[0] ?? '').trim())?.[2];
  if (word === undefined) return undefined;
  if (lines.length < 2 || lines.at(-1)!.trim() !== word) {
    throw failure('patch_syntax', `The heredoc is not closed: the last line must be ${word}.`);
  }
  return { lines: lines.slice(1, -1), skipped: skipped + 1 };
}

function refuseOtherFormats(lines: readonly string[]): void {
  const first = lines[0] ?? '';
  if (!/^(?:diff --git |--- |Index: |diff -)/.test(first)) return;
  throw failure(
    'patch_syntax',
    `This is a unified diff; applyPatch needs the format of this example:\n${PATCH_EXAMPLE}`,
  );
}

function trimBlank({ lines, skipped }: PatchText): PatchText {
  let first = 0;
  let end = lines.length;
  while (first < end && lines[first]!.trim() === '') first += 1;
  while (end > first && lines[end - 1]!.trim() === '') end -= 1;
  return { lines: lines.slice(first, end), skipped: skipped + first };
}
