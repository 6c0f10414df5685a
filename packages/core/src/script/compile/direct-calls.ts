import { decodedMappings, encodedMappings, TraceMap } from '@jridgewell/trace-mapping';
import { parseText } from '../syntax/parse.js';
import { applyEdits, LineIndex, type Edit } from '../syntax/source-text.js';
import { walk, type Node } from '../syntax/syntax.js';

interface MappedCode {
  readonly code: string;
  /** Source map mappings of the code. */
  readonly mappings: string;
}

const BEFORE = '(0,';
const AFTER = ')';

/**
 * Writes calls of names as `(0,f)(x)`. In the scope of a program's variables, `f(x)` would pass the scope to the function
 * as `this`, and the engine refuses `f?.(x)`. `isOwn`: whether the script itself declares the name.
 */
export function withDirectCalls({ code, mappings }: MappedCode, isOwn: (name: string) => boolean): MappedCode {
  const parsed = parseText(code);
  if (!parsed.ok) return { code, mappings };
  const names: Node[] = [];
  walk(parsed.program, ({ node }) => {
    const callee = node.type === 'CallExpression' ? node.callee : undefined;
    const called = node.type === 'TaggedTemplateExpression' ? node.tag : callee;
    if (called?.type === 'Identifier' && !isOwn(called.name)) names.push(called);
  });
  if (names.length === 0) return { code, mappings };
  const edits = names
    .flatMap(({ start, end }): Edit[] => [
      { start, end: start, text: BEFORE },
      { start: end, end, text: AFTER },
    ])
    .sort((left, right) => left.start - right.start);
  return { code: applyEdits(code, edits), mappings: shiftedMappings(code, mappings, edits) };
}

/** The mappings of the edited code. The text before a name has the name's position. */
function shiftedMappings(code: string, mappings: string, edits: readonly Edit[]): string {
  const index = new LineIndex(code, 'ecma');
  const columns = new Map<number, { column: number; text: string }[]>();
  for (const { start, text } of edits) {
    const { line, column } = index.positionAt(start);
    columns.set(line, [...(columns.get(line) ?? []), { column: column - 1, text }]);
  }
  const map = new TraceMap({ version: 3, sources: ['script.ts'], names: [], mappings });
  const lines = decodedMappings(map).map((segments, line) => shiftedSegments(segments, columns.get(line + 1) ?? []));
  return encodedMappings(new TraceMap({ version: 3, sources: ['script.ts'], names: [], mappings: lines }));
}

type Segment = ReturnType<typeof decodedMappings>[number][number];

function shiftedSegments(
  segments: readonly Segment[],
  insertions: readonly { column: number; text: string }[],
): Segment[] {
  let next = 0;
  let shift = 0;
  return segments.flatMap((segment) => {
    const [column, ...original] = segment;
    let before = shift;
    for (; next < insertions.length && insertions[next]!.column <= column; next++) {
      if (insertions[next]!.column < column || insertions[next]!.text === AFTER)
        before += insertions[next]!.text.length;
      shift += insertions[next]!.text.length;
    }
    const moved = [column + shift, ...original] as Segment;
    return before === shift ? [moved] : [[column + before, ...original] as Segment, moved];
  });
}
