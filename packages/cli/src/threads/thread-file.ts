import { readFileSync } from 'node:fs';
import { StreamEventSchema, type StreamEvent } from '@toolscript/core/protocol';
import { z } from 'zod';
import { visibleLine } from '../terminal/untrusted.js';
import { orRefuse, UsageError } from '../usage-error.js';

/*
 * The format in which earlier versions of Toolscript stored a conversation: a file of JSON lines. The first line is the
 * thread. The other lines are its agents, and the events of its runs without streamed deltas. A truncated line at the
 * end of the file is ignored.
 */

const HeadSchema = z.strictObject({
  type: z.literal('thread'),
  version: z.literal(1),
  thread_id: z.string(),
  workspace: z.string(),
  created_at: z.string(),
  title: z.string(),
});

/** The line for the thread's agent. The last such line of a file applies. */
const AgentSchema = z.strictObject({
  type: z.literal('voice'),
  agent: z.string(),
  model: z.string(),
  system: z.string().optional(),
  announced: z.string().optional(),
});

export interface ThreadText {
  readonly head: z.infer<typeof HeadSchema>;
  readonly agent: z.infer<typeof AgentSchema> | undefined;
  readonly events: readonly StreamEvent[];
}

/** Reads the file of a thread. Throws a UsageError for a file that contains no thread, or that cannot be read. */
export function readThreadFile(path: string): ThreadText {
  const name = visibleLine(path);
  const text = orRefuse(
    () => readFileSync(path, 'utf8'),
    (code) => `${name} cannot be read (${code}), so its conversation is not imported. Give your user read permission.`,
  );
  // The text after the last line break is empty, or a truncated line.
  const lines = text.split('\n').slice(0, -1);
  const values = lines.map((line, index) => parseLine(line, name, index + 1));
  const head = HeadSchema.safeParse(values[0]);
  if (!head.success) throw damaged(name, 1);
  let agent: ThreadText['agent'];
  const events: StreamEvent[] = [];
  for (const [index, value] of values.entries()) {
    const asAgent = AgentSchema.safeParse(value);
    if (asAgent.success) agent = asAgent.data;
    else if (index > 0) events.push(parseEvent(value, name, index + 1));
  }
  return { head: head.data, agent, events };
}

function parseLine(line: string, name: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw damaged(name, number);
  }
}

function parseEvent(value: unknown, name: string, number: number): StreamEvent {
  const event = StreamEventSchema.safeParse(value);
  if (event.success) return event.data;
  throw damaged(name, number);
}

function damaged(name: string, line: number): UsageError {
  return new UsageError(
    `${name} is damaged at line ${line}, so its conversation is not imported. Correct the line, or remove the file.`,
  );
}
