import { userMessage } from '@toolscript/core/agent';
import type { OutputItem } from '@toolscript/core/protocol';
import type { ThreadInstructions } from '@toolscript/core/ports';

/** A thread's agent, and the instructions that a new thread would get now. */
export interface CurrentInstructions {
  readonly agentId: string;
  readonly model: string;
  /** The nonce of the scripts in the thread's text: the stored one, if there is one. */
  readonly nonce: string | undefined;
  readonly system: string | undefined;
}

export interface ComparedInstructions {
  /** The instructions for the model. They stay unchanged while the thread has the same agent. */
  readonly system: string | undefined;
  /**
   * The text that precedes the next prompt and contains the current instructions. Undefined if the instructions have
   * not changed.
   */
  readonly announcement: OutputItem | undefined;
  /** Undefined if the stored instructions are current. */
  readonly toSave: ThreadInstructions | undefined;
}

/** Compares the stored instructions of a thread with the current ones. */
export function compareInstructions(
  before: ThreadInstructions | undefined,
  { agentId, model, nonce, system: current }: CurrentInstructions,
): ComparedInstructions {
  const isSame = before !== undefined && before.agentId === agentId;
  const announced = before?.announced ?? before?.system;
  const news = isSame && announced !== current ? current : undefined;
  const system = isSame ? before.system : current;
  const isSaved = isSame && before.model === model && before.nonce === nonce && news === undefined;
  const toSave: ThreadInstructions = {
    agentId,
    model,
    nonce,
    system,
    ...(current === system || current === undefined ? {} : { announced: current }),
  };
  return {
    system,
    announcement: news === undefined ? undefined : instructionsAnnouncement(news),
    toSave: isSaved ? undefined : toSave,
  };
}

function instructionsAnnouncement(system: string): OutputItem {
  const content = `The tools or the instructions have changed since this conversation started. From now on, these apply:\n\n${system}`;
  return { ...userMessage(content), role: 'system' } as OutputItem;
}
