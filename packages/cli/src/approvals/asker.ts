import type { ApprovalRequest, Decision, Remember, StreamEvent } from '@toolscript/core/protocol';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { shortDuration } from '../view/values.js';
import { editText } from './editor.js';
import {
  helpText,
  planQuestion,
  plannedCalls,
  promptText,
  questionText,
  readAnswer,
  wholeArguments,
  type Choices,
} from './question.js';
import type { QuestionTerminal } from './question-terminal.js';
import { ReasonLine } from './reason-line.js';
import type { NewRule, WorkspaceRules } from './workspace-rules.js';

const SETTLING_MS = 50;

/**
 * Keys that were typed before a question was visible do not answer the question. The asker drops keys until none has
 * arrived for this many ms.
 */
const UNREAD_MS = 40;
/** The delay in ms after a dropped key. It is longer than UNREAD_MS because a user who is typing continues to type. */
const TYPING_MS = 400;

/** A decision, or a marker that the decision follows later. */
export type Answered = Decision | 'suspend';

/** Returns why arguments are invalid for a tool; undefined if they are valid. */
export type ValidateInput = (tool: string, input: unknown) => string | undefined;

interface Question {
  readonly request: ApprovalRequest;
  readonly answer: (answered: Answered) => void;
  /** The rules that "always allow in this workspace" would store; undefined if the user cannot choose this answer. */
  suggestion?: NewRule | undefined;
  /** The user's replacement for the arguments. */
  edited?: { input: unknown };
  /** The last text from the editor, if it was invalid. */
  draft?: string;
  /** True while the user sees the plan and is asked to allow all of it. */
  isAboutPlan?: boolean;
  /** The line in which the user types the reason for a refusal; undefined before the user refuses the call. */
  reason?: ReasonLine;
  /** The timer that shows the question after a time without keys. */
  unread?: NodeJS.Timeout;
}

/** A question that reads the terminal itself. */
interface Lending {
  readonly use: (terminal: QuestionTerminal) => Promise<void>;
  /** Resolves the promise of `lend` when all questions are suspended. */
  readonly leave: () => void;
}

export interface AskerOptions {
  screen: Screen;
  rules: WorkspaceRules;
  validateInput: ValidateInput;
  /** The time in ms after which an unanswered question is suspended. Undefined: the question waits without a limit. */
  suspendAfterMs: number | undefined;
  /** Called on Ctrl-C while a question is open. */
  interrupt: () => void;
}

/**
 * Asks the user about the pending calls, one at a time.
 *
 * States: idle (no question is open) ⇄ asking (one question is open, the screen buffers all other output, and the other
 * questions are queued). A question is answered, is suspended, or is withdrawn when its call is no longer pending.
 * After `suspend`, every further question is suspended at once, until `reopen`. While the terminal is lent, the
 * borrower reads the keys.
 */
export class Asker {
  readonly #terminal: QuestionTerminal;
  readonly #options: AskerOptions;
  readonly #screen: Screen;
  readonly #waiting: (Question | Lending)[] = [];
  /** Tools that a user allowed for the rest of a script, and scripts whose plan was allowed. */
  readonly #allowed = new Set<string>();
  #open: Question | undefined;
  #patience: NodeJS.Timeout | undefined;
  #lent: Lending | undefined;
  #isSuspended = false;

  constructor(terminal: QuestionTerminal, options: AskerOptions) {
    this.#terminal = terminal;
    this.#options = options;
    this.#screen = options.screen;
  }

  readonly ask = (request: ApprovalRequest): Promise<Answered> => {
    return new Promise((answer) => {
      if (this.#isSuspended) return answer('suspend');
      this.#waiting.push({ request, answer });
      this.#next();
    });
  };

  /** The decisions about several calls, by approval id. A suspended call has no decision. */
  async askAll(requests: readonly ApprovalRequest[]): Promise<Record<string, Decision>> {
    const answers = await Promise.all(
      requests.map(async (request) => [request.approvalId, await this.ask(request)] as const),
    );
    return Object.fromEntries(answers.filter((answer): answer is [string, Decision] => answer[1] !== 'suspend'));
  }

  /**
   * Lends the terminal to `use` after the queued questions. Resolves with `left` if all questions are suspended before
   * `use` ends.
   */
  lend<Value>(use: (terminal: QuestionTerminal) => Promise<Value>, left: Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#isSuspended) return resolve(left);
      const leave = () => resolve(left);
      this.#waiting.push({ use: (terminal) => use(terminal).then(resolve, reject), leave });
      this.#next();
    });
  }

  /** Withdraws the question for an approval that timed out or was cancelled. */
  take({ payload }: StreamEvent): void {
    if (payload.type !== 'approval_resolved' || (payload.decision !== 'timeout' && payload.decision !== 'cancelled'))
      return;
    const isIt = (turn: Question | Lending) => 'request' in turn && turn.request.approvalId === payload.approval_id;
    const at = this.#waiting.findIndex(isIt);
    if (at !== -1) this.#waiting.splice(at, 1);
    if (this.#open === undefined || !isIt(this.#open)) return;
    const why =
      payload.decision === 'timeout' ? 'Too late: the time to answer has expired.' : 'The question was withdrawn.';
    this.#close(`\n  ${why}\n`);
  }

  /**
   * Suspends the open question and the queued ones. Returns true if there were any, or if an earlier suspension has not
   * ended.
   */
  suspend(): boolean {
    const open = this.#open ?? this.#lent;
    const left = [...(open === undefined ? [] : [open]), ...this.#waiting.splice(0)];
    if (left.length === 0) return this.#isSuspended;
    this.#isSuspended = true;
    if (open !== undefined) this.#close('later\n');
    for (const turn of left)
      if ('request' in turn) turn.answer('suspend');
      else turn.leave();
    return true;
  }

  /** Ends the suspension: the asker asks the user about later calls again. */
  reopen(): void {
    this.#isSuspended = false;
  }

  close(): void {
    if (this.#open !== undefined || this.#lent !== undefined) this.#close('\n');
    this.#terminal.close();
  }

  #next(): void {
    if (this.#open !== undefined || this.#lent !== undefined) return;
    const question = this.#waiting.shift();
    if (question === undefined) return;
    if (!('request' in question)) return this.#startLending(question);
    if (this.#isAllowed(question.request)) {
      question.answer('approve');
      return this.#next();
    }
    this.#open = question;
    question.suggestion = this.#options.rules.suggest(question.request);
    this.#screen.hold();
    // defence: typed-ahead-keys-dropped, without it: if (UNREAD_MS > 0) this.#put(question, false); else this.#drainTypeahead(question, UNREAD_MS);
    this.#drainTypeahead(question, UNREAD_MS);
  }

  #startLending(lending: Lending): void {
    this.#lent = lending;
    this.#screen.hold();
    void lending.use(this.#terminal).finally(() => {
      if (this.#lent === lending) this.#close('');
    });
  }

  /** Drops keys until none arrives for a while; then asks. */
  #drainTypeahead(question: Question, quietMs: number, wasTyping = false): void {
    const timer = setTimeout(() => this.#put(question, wasTyping), quietMs);
    this.#terminal.read((keys) => {
      clearTimeout(timer);
      if (keys === undefined) return this.#lose();
      if (readAnswer(keys) === 'interrupt') return this.#interrupted();
      this.#drainTypeahead(question, TYPING_MS, true);
      return true;
    });
    question.unread = timer;
  }

  #put(question: Question, wasTyping: boolean): void {
    if (this.#open !== question) return;
    this.#read(question);
    if (wasTyping)
      this.#terminal.write(
        `\n  ${this.#screen.warningStyle.dim('Keys that were typed before this question were ignored.')}\n`,
      );
    this.#terminal.write(questionText(question.request, this.#screen.warningStyle));
    this.#startPatience();
    this.#prompt(question);
  }

  /** Suspends the questions if the user does not answer in time. */
  #startPatience(): void {
    const { suspendAfterMs } = this.#options;
    if (suspendAfterMs === undefined) return;
    this.#patience = setTimeout(() => {
      this.#terminal.write(`\n  No answer for ${shortDuration(suspendAfterMs)}: `);
      this.suspend();
    }, suspendAfterMs);
  }

  #isAllowed(request: ApprovalRequest): boolean {
    if (this.#allowed.has(callKind(request)) || this.#options.rules.allows(request)) return true;
    return request.planned && this.#allowed.has(planOf(request));
  }

  #read(question: Question): void {
    this.#terminal.read((keys) => this.#press(question, keys));
  }

  #prompt(question: Question): void {
    this.#terminal.write(promptText(this.#screen.warningStyle, this.#choices(question)));
  }

  #choices({ suggestion, request }: Question): Choices {
    return { covers: suggestion?.covers, plan: plannedCalls(request).length > 0 };
  }

  /** Returns whether more keys are needed. */
  #press(question: Question, keys: string | undefined): boolean {
    if (keys === undefined) return this.#lose();
    if (question.reason !== undefined) return this.#pressInReason(question, question.reason, keys);
    const answer = readAnswer(keys);
    if (answer === undefined) return true;
    if (answer === 'interrupt') return this.#interrupted();
    if (question.isAboutPlan === true) return this.#pressAboutPlan(question, answer === 'yes');
    switch (answer) {
      case 'yes':
        return this.#decide(question, 'yes\n', approval(question));
      case 'always':
        this.#allowed.add(callKind(question.request));
        return this.#decide(question, 'always\n', approval(question, 'script'));
      case 'workspace':
        if (question.suggestion !== undefined) {
          void this.#remember(question, question.suggestion);
          return false;
        }
        this.#help(question);
        break;
      case 'plan':
        if (plannedCalls(question.request).length > 0) {
          question.isAboutPlan = true;
          this.#terminal.write(`plan\n${planQuestion(question.request, this.#screen.warningStyle)}`);
          return true;
        }
        this.#help(question);
        break;
      case 'edit':
        void this.#edit(question);
        return false;
      case 'suspend':
        return this.#decide(question, 'later\n', 'suspend');
      case 'no':
        return this.#refuse(question, keys);
      case 'view':
        this.#terminal.write(`\n${wholeArguments(inputJsonOf(question))}`);
        break;
      case 'help':
      case 'unclear':
        this.#help(question);
    }
    this.#prompt(question);
    return true;
  }

  #pressAboutPlan(question: Question, isMeant: boolean): boolean {
    question.isAboutPlan = false;
    if (isMeant) {
      this.#allowed.add(planOf(question.request));
      return this.#decide(question, 'yes\n', approval(question, 'plan'));
    }
    this.#terminal.write('no\n');
    this.#prompt(question);
    return true;
  }

  /** Enter, Escape and Ctrl-D refuse at once; `n` lets the user say why. */
  #refuse(question: Question, keys: string): boolean {
    if (!/^no?$/iu.test(keys)) return this.#decide(question, 'no\n', 'deny');
    question.reason = new ReasonLine((text) => this.#terminal.write(text));
    this.#terminal.write('no\n  Why? The script reads your reason; Enter refuses without a reason: ');
    return true;
  }

  #pressInReason(question: Question, reason: ReasonLine, keys: string): boolean {
    const typed = reason.take(keys);
    if (typed === 'interrupt') return this.#interrupted();
    if (typed === 'more') return true;
    return this.#decide(question, '\n', reason.text === '' ? 'deny' : { decision: 'deny', note: reason.text });
  }

  #help(question: Question): void {
    this.#terminal.write(`\n${helpText(this.#choices(question))}`);
  }

  #interrupted(): boolean {
    const open = this.#open;
    this.#options.interrupt();
    if (open !== undefined && this.#open === open) {
      this.#close('\n');
      open.answer('suspend');
    }
    return false;
  }

  /** Suspends the questions, because the terminal was closed before the user answered them. */
  #lose(): boolean {
    this.suspend();
    return false;
  }

  /**
   * Opens the editor, then asks about the call again: with the edited arguments, or with the previous arguments and the
   * reason why the edited ones cannot be used.
   */
  async #edit(question: Question): Promise<void> {
    this.#terminal.stopReading();
    this.#terminal.write('edit\n');
    const before = JSON.stringify(JSON.parse(inputJsonOf(question)), undefined, 2);
    let said: string;
    try {
      const text = await editText(question.draft ?? `${before}\n`, this.#terminal.descriptors, process.env);
      said = this.#takeEdited(question, text);
    } catch (error) {
      said = `  ${visible((error as Error).message)}\n`;
    }
    // Meanwhile, the call may have been aborted, or all questions suspended.
    if (this.#open !== question) return;
    this.#read(question);
    this.#terminal.write(said);
    this.#prompt(question);
  }

  /** Takes the arguments from the editor. Returns the text that the user sees. */
  #takeEdited(question: Question, text: string): string {
    let input: unknown;
    try {
      input = JSON.parse(text);
    } catch (error) {
      question.draft = text;
      return `  Your text is not JSON: ${visibleLine((error as Error).message)}. [e] opens it again; the question has not changed.\n`;
    }
    const why = this.#options.validateInput(question.request.tool, input);
    if (why !== undefined) {
      question.draft = text;
      return `  These arguments do not fit: ${visibleLine(why)}. [e] opens them again; the question has not changed.\n`;
    }
    delete question.draft;
    if (JSON.stringify(input) === question.request.inputJson) {
      delete question.edited;
      return "  The arguments are the script's own.\n";
    }
    question.edited = { input };
    // The rules of "always allow" were made for the previous arguments.
    question.suggestion = undefined;
    return `  With your arguments:\n${wholeArguments(JSON.stringify(input))}`;
  }

  /**
   * Stores a rule and approves the call. The call runs even if the rule cannot be stored; the terminal then shows the
   * reason.
   */
  async #remember(question: Question, suggestion: NewRule): Promise<void> {
    let said = 'always in this workspace (to end this: toolscript rules --remove NUMBER)\n';
    let decision = approval(question, 'workspace');
    try {
      await this.#options.rules.remember(suggestion);
    } catch (error) {
      said = `yes\n  ${visibleLine((error as Error).message)}\n`;
      decision = approval(question);
    }
    // The call may have been aborted meanwhile.
    if (this.#open === question) this.#decide(question, said, decision);
  }

  #decide(question: Question, said: string, answered: Answered): boolean {
    this.#close(said, false);
    question.answer(answered);
    // A denial often ends the script, and then the script's other questions are withdrawn. The delay leaves time for
    // this before the next question.
    setTimeout(() => this.#next(), SETTLING_MS);
    return false;
  }

  #close(said: string, continues = true): void {
    clearTimeout(this.#open?.unread);
    clearTimeout(this.#patience);
    this.#open = undefined;
    this.#lent = undefined;
    this.#terminal.stopReading();
    this.#terminal.write(said);
    this.#screen.release();
    if (continues) setImmediate(() => this.#next());
  }
}

function approval({ edited }: Question, remember?: Remember): Decision {
  if (edited === undefined && remember === undefined) return 'approve';
  return { decision: 'approve', ...edited, ...(remember === undefined ? {} : { remember }) };
}

function inputJsonOf({ request, edited }: Question): string {
  return edited === undefined ? request.inputJson : JSON.stringify(edited.input);
}

function callKind({ scriptId, tool }: ApprovalRequest): string {
  return `${scriptId ?? ''} ${tool}`;
}

function planOf({ scriptId }: ApprovalRequest): string {
  return `${scriptId ?? ''} the plan`;
}
