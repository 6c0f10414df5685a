import { ToolCallError, type ApprovalPolicy, type StreamEvent } from '@toolscript/core/protocol';
import type { Approve } from '../configuration/settings.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { Asker } from './asker.js';
import { openQuestionTerminal, type TerminalWishes } from './question-terminal.js';

/** Who decides in one run, and what has to be told about it. */
export interface Approvals {
  readonly policy: ApprovalPolicy;
  take(event: StreamEvent): void;
  close(): void;
}

export interface ApprovalsWishes extends TerminalWishes {
  approve: Approve;
  screen: Screen;
  /** What Ctrl-C does while a question is open. */
  interrupt: () => void;
}

/** `ask` without a terminal refuses, and says once how to allow. */
export function openApprovals({ approve, screen, interrupt, ...wishes }: ApprovalsWishes): Approvals {
  if (approve !== 'ask') return { policy: approve, take: () => {}, close: () => {} };
  let asker: Asker | undefined;
  let isOpened = false;
  let isSaid = false;
  const open = (): Asker | undefined => {
    if (isOpened) return asker;
    isOpened = true;
    const terminal = openQuestionTerminal(wishes);
    asker = terminal === undefined ? undefined : new Asker(terminal, screen, interrupt);
    return asker;
  };
  return {
    policy: (request) => {
      const found = open();
      if (found !== undefined) return found.ask(request);
      if (!isSaid) screen.warn(`toolscript: ${visibleLine(request.tool)} needs an approval and ${NOBODY}.`);
      isSaid = true;
      throw new ToolCallError('ApprovalDeniedError', NOBODY);
    },
    take: (event) => asker?.take(event),
    close: () => asker?.close(),
  };
}

const NOBODY = 'there is no terminal to ask at; run it again with --approve auto to allow such calls';
