import type { CompiledScript, ScriptPosition, SourcePosition } from '../../protocol/index.js';

const MAX_FRAMES = 10;
// defence: only-frames-of-the-script
const FRAME = /^\s*at (.*?) ?\(?script\.ts:(\d+):(\d+)\)?$/u;

/** A frame of an earlier script of the program, which the guest has mapped. */
const EARLIER_FRAME = /^\s*at (.*?) ?\(script (\d{1,9}), line (\d{1,9})\)$/u;

/** A guest's stack in the model's own lines. */
export interface MappedStack {
  /** The position of the innermost frame in `script.ts`. */
  position: SourcePosition | undefined;
  /** The innermost frame, if it is in a saved script. */
  saved: ScriptPosition | undefined;
  /** At most 10 frames, in `script.ts` and saved scripts; empty if none belongs to the script. */
  text: string;
}

/**
 * Keeps the frames of the script and its saved scripts, and maps them to the model's source. Frames of the bridge name
 * another file. The script chooses function names, so they are shortened and cleaned.
 */
export function mapGuestStack(stack: string, script: CompiledScript): MappedStack {
  const frames: string[] = [];
  let position: SourcePosition | undefined;
  let innermost: ScriptPosition | undefined;
  for (const line of stack.split('\n')) {
    const match = FRAME.exec(line);
    if (match === null) {
      const earlier = EARLIER_FRAME.exec(line);
      if (earlier !== null && frames.length < MAX_FRAMES)
        frames.push(`    at ${frameName(earlier[1])}(script ${earlier[2]}, line ${earlier[3]})`);
      continue;
    }
    const at = script.originalPosition(Number(match[2]), Number(match[3]));
    if (at === undefined) continue;
    innermost ??= at;
    if (at.saved === undefined) position ??= { line: at.line, column: at.column };
    frames.push(`    at ${frameName(match[1])}(${placeText(at)})`);
    if (frames.length === MAX_FRAMES) break;
  }
  const saved = innermost?.saved === undefined ? undefined : innermost;
  return { position, saved, text: frames.join('\n') };
}

/** `script.ts:3:1`, or `NAME@VERSION:3:1`. */
export function placeText({ saved = 'script.ts', line, column }: ScriptPosition): string {
  return `${saved}:${line}:${column}`;
}

function frameName(name = ''): string {
  return name === '' || name === '<anonymous>' ? '' : `${cleanName(name)} `;
}

function cleanName(name: string): string {
  // defence: names-in-stacks-are-cleaned
  return name.replaceAll(/[^\w$.<>#[\] -]/gu, '?').slice(0, 60);
}
