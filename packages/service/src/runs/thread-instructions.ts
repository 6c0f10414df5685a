import type { AgentBeginning } from '@toolscript/core/agent';
import type { OutputItem } from '@toolscript/core/protocol';
import type { ThreadInstructions } from '@toolscript/core/ports';

/** A thread's agent, and what each request of a new thread would begin with now. */
export interface CurrentInstructions {
  readonly agentId: string;
  readonly model: string;
  /** The nonce of the scripts in the thread's text: the stored one, if there is one. */
  readonly nonce: string | undefined;
  readonly beginning: AgentBeginning;
}

export interface ComparedInstructions {
  /** The system text and the tools. They stay unchanged while the thread has the same agent and carrier. */
  readonly system: string | undefined;
  readonly tools: string | undefined;
  /** The text that precedes the next prompt and says what has changed. Undefined if nothing has changed. */
  readonly announcement: OutputItem | undefined;
  /** Undefined if the stored instructions are current. */
  readonly toSave: ThreadInstructions | undefined;
}

/** Compares the stored instructions of a thread with the current ones. */
export function compareInstructions(
  before: ThreadInstructions | undefined,
  { agentId, model, nonce, beginning }: CurrentInstructions,
): ComparedInstructions {
  const { carrier } = beginning;
  const kept = before?.agentId === agentId && before.carrier === carrier ? before : undefined;
  const { system, tools } = kept ?? beginning;
  const news = kept && beginning.changesSince(kept);
  const { announced } = news ?? kept ?? beginning;
  const isSaved = kept !== undefined && kept.model === model && kept.nonce === nonce && news === undefined;
  return {
    system,
    tools,
    announcement: news?.message,
    toSave: isSaved ? undefined : { agentId, model, carrier, nonce, system, tools, announced },
  };
}
