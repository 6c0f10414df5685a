import type { ApprovalRequest, Decision, Remember, StreamEvent } from '@toolscript/core/protocol';
import type { Settings } from '../configuration/settings.js';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { shortDuration } from '../view/values.js';
import { editText } from './editor.js';
import { readAfterGuard } from './guarded-keys.js';
import {
  helpText,
  plannedCalls,
  planPrompt,
  planText,
  promptText,
  questionText,
  readAnswer,
  wholeArguments,
  wholeRequest,
  type Choices,
} from './question.js';
import type { QuestionTerminal } from './question-terminal.js';
import type { PermissionMode } from './permission-mode.js';
import { ReasonLine } from './reason-line.js';
import type { NewRule, WorkspaceRules } from './workspace-rules.js';

const SETTLING_MS = 50;

/** A decision, or a marker that the decision follows later. */
export type UserAnswer = Decision | 'suspend';

/** Returns why arguments are invalid for a tool; undefined if they are valid. */
export type ValidateInput = (tool: string, input: unknown) => string | undefined;

interface Question {
  readonly request: ApprovalRequest;
  readonly answer: (answered: UserAnswer) => void;
  /** The rules that "always allow in this workspace" would store; undefined if the user cannot choose this answer. */
  suggestions?: readonly NewRule[];
  /** The user's replacement for the arguments. */
  edited?: { input: unknown } | undefined;
  /** The last text from the editor, if it was invalid. */
  draft?: string | undefined;
  /** True while the user sees the plan and is asked to allow all of it. */
  isAboutPlan?: boolean | undefined;
  /** The line in which the user types the reason for a refusal; undefined before the user refuses the call. */
  reason?: ReasonLine | undefined;
  /** Ends the time in which keys are dropped. */
  stopGuard?: (() => void) | undefined;
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
  /** The signal that a question waits. */
  notify: Settings['notify'];
  /** Shift-Tab selects the next mode. */
  mode: PermissionMode;
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
  readonly #allowedKeys = new Set<string>();
  #open: Question | undefined;
  #patience: NodeJS.Timeout | undefined;
  #lending: Lending | undefined;
  #isSuspended = false;

  constructor(terminal: QuestionTerminal, options: AskerOptions) {
    this.#terminal = terminal;
    this.#options = options;
    this.#screen = options.screen;
  }

  readonly ask = (request: ApprovalRequest): Promise<UserAnswer> => {
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
    const open = this.#open ?? this.#lending;
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
    if (this.#open !== undefined || this.#lending !== undefined) this.#close('\n');
    this.#terminal.close();
  }

  #next(): void {
    if (this.#open !== undefined || this.#lending !== undefined) return;
    const question = this.#waiting.shift();
    if (question === undefined) return;
    if (!('request' in question)) return this.#startLending(question);
    const decided = this.#isAllowed(question.request) ? 'approve' : this.#options.mode.answer(question.request);
    if (decided !== undefined) {
      question.answer(decided);
      return this.#next();
    }
    this.#open = question;
    question.suggestions = this.#options.rules.suggest(question.request);
    this.#screen.hold();
    this.#terminal.write(notificationText(this.#options.notify, question.request));
    this.#terminal.write(questionText(question.request, this.#screen.warningStyle));
    this.#prompt(question);
  }

  #startLending(lending: Lending): void {
    this.#lending = lending;
    this.#screen.hold();
    void lending.use(this.#terminal).finally(() => {
      if (this.#lending === lending) this.#close('');
    });
  }

  /** Suspends the questions if the user does not answer in time. */
  #startPatience(): void {
    const { suspendAfterMs } = this.#options;
    if (suspendAfterMs === undefined || this.#patience !== undefined) return;
    this.#patience = setTimeout(() => {
      this.#terminal.write(`\n  No answer for ${shortDuration(suspendAfterMs)}: `);
      this.suspend();
    }, suspendAfterMs);
  }

  #isAllowed(request: ApprovalRequest): boolean {
    if (this.#allowedKeys.has(callKind(request)) || this.#options.rules.allows(request)) return true;
    return request.planned && this.#allowedKeys.has(planKey(request));
  }

  /** Writes the prompt, `promptText` by default, when the user has had the time to read what was written before. */
  #prompt(question: Question, text = promptText(this.#screen.warningStyle, this.#choices(question))): void {
    const { dim } = this.#screen.warningStyle;
    question.stopGuard = readAfterGuard(this.#terminal, {
      prompt: (hasDropped) => {
        if (hasDropped) this.#terminal.write(`  ${dim('Keys that were typed before this question were ignored.')}\n`);
        this.#terminal.write(text);
        this.#startPatience();
      },
      take: (keys) => this.#press(question, keys),
    });
  }

  #choices({ suggestions = [], request }: Question): Choices {
    return { covers: suggestions.map(({ covers }) => covers), plan: plannedCalls(request).length > 0 };
  }

  /** Returns whether more keys are needed. */
  #press(question: Question, keys: string | undefined): boolean {
    if (keys === undefined) return this.#lose();
    if (question.reason !== undefined) return this.#pressInReason(question, question.reason, keys);
    const answer = readAnswer(keys);
    if (answer === undefined) return true;
    if (answer === 'interrupt') return this.#interruptQuestion();
    if (question.isAboutPlan === true) return this.#pressAboutPlan(question, answer === 'yes');
    switch (answer) {
      case 'yes':
        return this.#decide(question, 'yes\n', approval(question));
      case 'always':
        this.#allowedKeys.add(callKind(question.request));
        return this.#decide(question, 'always\n', approval(question, 'script'));
      case 'session':
      case 'workspace':
      case 'broader':
        if (this.#takeRule(question, answer)) return false;
        this.#help(question);
        break;
      case 'plan':
        if (plannedCalls(question.request).length > 0) {
          question.isAboutPlan = true;
          this.#terminal.write(`plan\n${planText(question.request)}`);
          this.#prompt(question, planPrompt(this.#screen.warningStyle));
          return true;
        }
        this.#help(question);
        break;
      case 'edit':
        void this.#edit(question);
        return false;
      case 'suspend':
        return this.#decide(question, 'later\n', 'suspend');
      case 'mode':
        if (this.#changeMode(question)) return false;
        break;
      case 'no':
        return this.#refuse(question, keys);
      case 'view':
        this.#terminal.write(
          `\n${wholeRequest(question.request, questionInputJson(question), this.#screen.warningStyle)}`,
        );
        break;
      case 'help':
      case 'unclear':
        this.#help(question);
    }
    this.#prompt(question);
    return true;
  }

  /** Approves the call with a rule. Returns false if there is no such rule. */
  #takeRule(question: Question, answer: 'session' | 'workspace' | 'broader'): boolean {
    const suggestion = question.suggestions?.[answer === 'broader' ? 1 : 0];
    if (suggestion === undefined) return false;
    if (answer !== 'session') void this.#remember(question, suggestion);
    else {
      this.#options.rules.allowForSession(suggestion);
      this.#decide(question, 'for this session\n', approval(question));
    }
    return true;
  }

  /** Selects the next mode. Returns true if the mode decides about the call. */
  #changeMode(question: Question): boolean {
    const { mode } = this.#options;
    this.#terminal.write(`mode ${mode.advance()}\n`);
    const decided = mode.answer(question.request);
    if (decided === undefined) return false;
    this.#decide(question, '', decided === 'approve' ? approval(question) : decided);
    return true;
  }

  #pressAboutPlan(question: Question, isMeant: boolean): boolean {
    question.isAboutPlan = false;
    if (isMeant) {
      this.#allowedKeys.add(planKey(question.request));
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
    if (typed === 'interrupt') return this.#interruptQuestion();
    if (typed === 'more') return true;
    return this.#decide(question, '\n', reason.text === '' ? 'deny' : { decision: 'deny', note: reason.text });
  }

  #help(question: Question): void {
    this.#terminal.write(`\n${helpText(this.#choices(question))}`);
  }

  #interruptQuestion(): boolean {
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
    const before = JSON.stringify(JSON.parse(questionInputJson(question)), undefined, 2);
    let said: string;
    try {
      const text = await editText(question.draft ?? `${before}\n`, this.#terminal.descriptors, process.env);
      said = this.#takeEdited(question, text);
    } catch (error) {
      said = `  ${visible((error as Error).message)}\n`;
    }
    // Meanwhile, the call may have been aborted, or all questions suspended.
    if (this.#open !== question) return;
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
    question.suggestions = [];
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

  #decide(question: Question, said: string, answered: UserAnswer): boolean {
    this.#close(said, false);
    question.answer(answered);
    // A denial often ends the script, and then the script's other questions are withdrawn. The delay leaves time for
    // this before the next question.
    setTimeout(() => this.#next(), SETTLING_MS);
    return false;
  }

  #close(said: string, continues = true): void {
    this.#open?.stopGuard?.();
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#open = undefined;
    this.#lending = undefined;
    this.#terminal.stopReading();
    this.#terminal.write(said);
    this.#screen.release();
    if (continues) setImmediate(() => this.#next());
  }
}

/** The bell of the terminal, which also ends the sequence of a notification (OSC 9). */
function notificationText(notify: Settings['notify'], { tool }: ApprovalRequest): string {
  if (notify === 'off') return '';
  return notify === 'bell' ? '\x07' : `\x1b]9;toolscript: ${visibleLine(tool)} needs your approval\x07`;
}

function approval({ edited }: Question, remember?: Remember): Decision {
  if (edited === undefined && remember === undefined) return 'approve';
  return { decision: 'approve', ...edited, ...(remember === undefined ? {} : { remember }) };
}

function questionInputJson({ request, edited }: Question): string {
  return edited === undefined ? request.inputJson : JSON.stringify(edited.input);
}

function callKind({ scriptId, tool }: ApprovalRequest): string {
  return `${scriptId ?? ''} ${tool}`;
}

function planKey({ scriptId }: ApprovalRequest): string {
  return `${scriptId ?? ''} the plan`;
}
