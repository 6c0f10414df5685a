import type { ApprovalRequest, Decision, Remember, StreamEvent } from '@toolscript/core/protocol';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { editText } from './editor.js';
import {
  helpText,
  plannedCalls,
  planQuestion,
  promptText,
  questionText,
  readAnswer,
  wholeArguments,
  type Choices,
} from './question.js';
import type { QuestionTerminal } from './question-terminal.js';
import type { NewRule } from './rule-folder.js';
import type { WorkspaceRules } from './workspace-rules.js';

const SETTLING_MS = 50;

/** What was typed before a question could be read is no answer to it: keys are let go until none has come for so long. */
const UNREAD_MS = 40;
/** The same, once one has come: whoever types goes on typing. */
const TYPING_MS = 400;

/** A decision, or that there will be one later. */
export type Answered = Decision | 'suspend';

/** Why arguments do not fit a tool; undefined where they do. */
export type ValidateInput = (tool: string, input: unknown) => string | undefined;

interface Question {
  readonly request: ApprovalRequest;
  readonly answer: (answered: Answered) => void;
  /** What could be allowed always, as the person is shown it. */
  suggestion?: NewRule | undefined;
  /** What the person put in place of the arguments. */
  edited?: { input: unknown };
  /** What was last written in the editor, if it was no good. */
  draft?: string;
  /** The plan was shown, and is what is asked about now. */
  isAboutPlan?: boolean;
  /** Until it is put. */
  unread?: NodeJS.Timeout;
}

export interface AskerOptions {
  screen: Screen;
  rules: WorkspaceRules;
  validateInput: ValidateInput;
  /** What Ctrl-C does while a question is open. */
  interrupt: () => void;
}

/**
 * Puts the calls that wait for a person to that person, one at a time.
 *
 * States: idle (nothing is asked) ⇄ asking (one question is open, the screen holds everything else back, the
 * others wait in line). A question ends with an answer, is left for later, or is taken back when its call no longer
 * waits. Once everything was put aside, all that comes is left for later at once.
 */
export class Asker {
  readonly #terminal: QuestionTerminal;
  readonly #wishes: AskerOptions;
  readonly #screen: Screen;
  readonly #waiting: Question[] = [];
  /** Tools that a person allowed for the rest of a script, and scripts whose plan was allowed. */
  readonly #allowed = new Set<string>();
  #open: Question | undefined;
  #isPutAside = false;

  constructor(terminal: QuestionTerminal, wishes: AskerOptions) {
    this.#terminal = terminal;
    this.#wishes = wishes;
    this.#screen = wishes.screen;
  }

  readonly ask = (request: ApprovalRequest): Promise<Answered> => {
    return new Promise((answer) => {
      if (this.#isPutAside) return answer('suspend');
      this.#waiting.push({ request, answer });
      this.#next();
    });
  };

  /** Decisions about several calls, by approval; what is left for later has none. */
  async askAll(requests: readonly ApprovalRequest[]): Promise<Record<string, Decision>> {
    const answers = await Promise.all(
      requests.map(async (request) => [request.approvalId, await this.ask(request)] as const),
    );
    return Object.fromEntries(answers.filter((answer): answer is [string, Decision] => answer[1] !== 'suspend'));
  }

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

  /** Leaves everything that is asked for later. False where nothing was. */
  putAside(): boolean {
    const open = this.#open;
    const left = [...(open === undefined ? [] : [open]), ...this.#waiting.splice(0)];
    if (left.length === 0) return this.#isPutAside;
    this.#isPutAside = true;
    if (open !== undefined) this.#close('later\n');
    for (const { answer } of left) answer('suspend');
    return true;
  }

  /** After all was put aside: what comes from now on is asked about again. */
  reopen(): void {
    this.#isPutAside = false;
  }

  close(): void {
    if (this.#open !== undefined) this.#close('\n');
    this.#terminal.close();
  }

  #next(): void {
    if (this.#open !== undefined) return;
    const question = this.#waiting.shift();
    if (question === undefined) return;
    if (this.#isAllowed(question.request)) {
      question.answer('approve');
      return this.#next();
    }
    this.#open = question;
    question.suggestion = this.#wishes.rules.suggest(question.request);
    this.#screen.hold();
    // defence: typed-ahead-keys-dropped, without it: if (UNREAD_MS > 0) this.#put(question, false); else this.#drainTypeahead(question, UNREAD_MS);
    this.#drainTypeahead(question, UNREAD_MS);
  }

  /** Takes keys without meaning, until it is quiet; then asks. */
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
        `\n  ${this.#screen.warningStyle.dim('What was typed before this question is no answer to it.')}\n`,
      );
    this.#terminal.write(questionText(question.request, this.#screen.warningStyle));
    this.#prompt(question);
  }

  #isAllowed(request: ApprovalRequest): boolean {
    if (this.#allowed.has(callKind(request)) || this.#wishes.rules.allows(request)) return true;
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

  /** Whether more keys are wanted. */
  #press(question: Question, keys: string | undefined): boolean {
    if (keys === undefined) return this.#lose();
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
        return this.#decide(question, 'no\n', 'deny');
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

  #help(question: Question): void {
    this.#terminal.write(`\n${helpText(this.#choices(question))}`);
  }

  #interrupted(): boolean {
    const open = this.#open;
    this.#wishes.interrupt();
    if (open !== undefined && this.#open === open) {
      this.#close('\n');
      open.answer('suspend');
    }
    return false;
  }

  /** The terminal is gone: nobody has said no. */
  #lose(): boolean {
    this.putAside();
    return false;
  }

  /** The call is asked about again, with the arguments that were written; or with those before, and why. */
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
    // The call may have been given up, or all put aside, meanwhile.
    if (this.#open !== question) return;
    this.#read(question);
    this.#terminal.write(said);
    this.#prompt(question);
  }

  /** What the person is told of it. */
  #takeEdited(question: Question, text: string): string {
    let input: unknown;
    try {
      input = JSON.parse(text);
    } catch (error) {
      question.draft = text;
      return `  That is no JSON: ${visibleLine((error as Error).message)}. [e] opens it again; what was asked stands.\n`;
    }
    const why = this.#wishes.validateInput(question.request.tool, input);
    if (why !== undefined) {
      question.draft = text;
      return `  These arguments do not fit: ${visibleLine(why)}. [e] opens them again; what was asked stands.\n`;
    }
    delete question.draft;
    if (JSON.stringify(input) === question.request.inputJson) {
      delete question.edited;
      return '  The arguments are as the script has them.\n';
    }
    question.edited = { input };
    // What could be allowed always was made for other arguments.
    question.suggestion = undefined;
    return `  With your arguments:\n${wholeArguments(JSON.stringify(input))}`;
  }

  /** The call runs also where the rule cannot be kept; that is said. */
  async #remember(question: Question, suggestion: NewRule): Promise<void> {
    let said = 'always in this workspace (toolscript rules takes it back)\n';
    let decision = approval(question, 'workspace');
    try {
      await this.#wishes.rules.remember(suggestion);
    } catch (error) {
      said = `yes\n  ${visibleLine((error as Error).message)}\n`;
      decision = approval(question);
    }
    // The call may have been given up meanwhile.
    if (this.#open === question) this.#decide(question, said, decision);
  }

  #decide(question: Question, said: string, answered: Answered): boolean {
    this.#close(said, false);
    question.answer(answered);
    // What the decision leads to is told first; a refusal often ends the script, and its other questions with it.
    setTimeout(() => this.#next(), SETTLING_MS);
    return false;
  }

  #close(said: string, goOn = true): void {
    clearTimeout(this.#open?.unread);
    this.#open = undefined;
    this.#terminal.stopReading();
    this.#terminal.write(said);
    this.#screen.release();
    if (goOn) setImmediate(() => this.#next());
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
