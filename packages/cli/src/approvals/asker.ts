import type { ApprovalRequest, Decision, StreamEvent } from '@toolscript/core/protocol';
import type { Screen } from '../terminal/screen.js';
import { HELP, promptText, questionText, readAnswer, wholeArguments } from './question.js';
import type { QuestionTerminal } from './question-terminal.js';

const SETTLING_MS = 50;

interface Question {
  readonly request: ApprovalRequest;
  readonly answer: (decision: Decision) => void;
}

/**
 * Puts the calls that wait for a person to that person, one at a time.
 *
 * States: idle (nothing is asked) ⇄ asking (one question is open, the screen holds everything else back, the
 * others wait in line). A question ends with an answer, or is taken back when its call no longer waits.
 */
export class Asker {
  readonly #terminal: QuestionTerminal;
  readonly #screen: Screen;
  readonly #interrupt: () => void;
  readonly #waiting: Question[] = [];
  /** Tools that a person allowed for the rest of a script. */
  readonly #allowed = new Set<string>();
  #open: Question | undefined;

  /** `interrupt`: what Ctrl-C does while a question is open. */
  constructor(terminal: QuestionTerminal, screen: Screen, interrupt: () => void) {
    this.#terminal = terminal;
    this.#screen = screen;
    this.#interrupt = interrupt;
  }

  readonly ask = (request: ApprovalRequest): Promise<Decision> => {
    return new Promise((answer) => {
      this.#waiting.push({ request, answer });
      this.#next();
    });
  };

  /** Takes back the question about a call that is over: too late, or given up. */
  take({ payload }: StreamEvent): void {
    if (payload.type !== 'approval_resolved' || (payload.decision !== 'timeout' && payload.decision !== 'cancelled'))
      return;
    const isIt = ({ request }: Question) => request.approvalId === payload.approval_id;
    const at = this.#waiting.findIndex(isIt);
    if (at !== -1) this.#waiting.splice(at, 1);
    if (this.#open === undefined || !isIt(this.#open)) return;
    const why =
      payload.decision === 'timeout'
        ? 'Too late: nobody answered in time (--limit approvalTimeoutMs=… gives more).'
        : 'No longer asked.';
    this.#close(`\n  ${why}\n`);
  }

  close(): void {
    if (this.#open !== undefined) this.#close('\n');
    this.#terminal.close();
  }

  #next(): void {
    if (this.#open !== undefined) return;
    const question = this.#waiting.shift();
    if (question === undefined) return;
    if (this.#allowed.has(callKind(question.request))) {
      question.answer('approve');
      return this.#next();
    }
    this.#open = question;
    this.#screen.hold();
    // Keys are read before there is anything to answer, so that none is taken for a line of input.
    this.#terminal.read((keys) => this.#press(question, keys));
    this.#terminal.write(questionText(question.request, this.#screen.warningStyle));
    this.#prompt();
  }

  #prompt(): void {
    this.#terminal.write(promptText(this.#screen.warningStyle));
  }

  /** Whether more keys are wanted. */
  #press(question: Question, keys: string): boolean {
    const answer = readAnswer(keys);
    switch (answer) {
      case undefined:
        return true;
      case 'yes':
        return this.#decide(question, 'yes\n', 'approve');
      case 'always':
        this.#allowed.add(callKind(question.request));
        return this.#decide(question, 'always\n', { decision: 'approve', remember: 'script' });
      case 'no':
        return this.#decide(question, 'no\n', 'deny');
      case 'interrupt':
        this.#close('\n');
        this.#interrupt();
        return false;
      case 'view':
        this.#terminal.write(`\n${wholeArguments(question.request)}`);
        break;
      case 'help':
      case 'unclear':
        this.#terminal.write(`\n${HELP}`);
    }
    this.#prompt();
    return true;
  }

  #decide(question: Question, said: string, decision: Decision): boolean {
    this.#close(said, false);
    question.answer(decision);
    // What the decision leads to is told first; a refusal often ends the script, and its other questions with it.
    setTimeout(() => this.#next(), SETTLING_MS);
    return false;
  }

  #close(said: string, goOn = true): void {
    this.#open = undefined;
    this.#terminal.stopReading();
    this.#terminal.write(said);
    this.#screen.release();
    if (goOn) setImmediate(() => this.#next());
  }
}

function callKind({ scriptId, tool }: ApprovalRequest): string {
  return `${scriptId ?? ''} ${tool}`;
}
