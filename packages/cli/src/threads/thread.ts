import { randomBytes } from 'node:crypto';
import { extendHistory, userMessage } from '@toolscript/core/agent';
import type { OutputItem, StreamEvent } from '@toolscript/core/protocol';
import {
  readThread,
  ThreadWriter,
  waitingRun,
  type LossListener,
  type ThreadHead,
  type ThreadText,
  type ThreadVoice,
  type WaitingRun,
} from './thread-file.js';
import type { ListedThread, ThreadFolder } from './thread-folder.js';

const TITLE_LENGTH = 100;

/** Who is talked to, and what they are told at the beginning. */
export interface Voice {
  readonly agent: string;
  readonly model: string;
  /** As the tools and the agent are now. */
  readonly system: string | undefined;
}

/**
 * A conversation: what was said, and the file that keeps it. The file is made with the first prompt. What a model is
 * told at the beginning stays as it was then; what has changed since is told once, before the next prompt.
 */
export class Thread {
  readonly id: string;
  readonly workspace: string;
  /** The model that is told the same as at the beginning; undefined where that is new. */
  readonly system: string | undefined;
  #history: readonly OutputItem[];
  #waiting: WaitingRun | undefined;
  readonly #folder: ThreadFolder;
  readonly #voice: ThreadVoice;
  readonly #onLost: LossListener | undefined;
  #writer: ThreadWriter | undefined;
  #isVoiceKept: boolean;
  /** Instructions that the model has not been told. */
  #news: string | undefined;
  #run: StreamEvent[] = [];

  private constructor(settings: {
    id: string;
    workspace: string;
    folder: ThreadFolder;
    voice: Voice;
    text: ThreadText | undefined;
    writer: ThreadWriter | undefined;
    onLost: LossListener | undefined;
  }) {
    const { id, workspace, folder, voice, text, writer, onLost } = settings;
    this.id = id;
    this.workspace = workspace;
    this.#folder = folder;
    this.#history = text?.history ?? [];
    this.#waiting = text?.waiting;
    this.#writer = writer;
    this.#onLost = onLost;
    const before = text?.voice;
    const isSame = before !== undefined && before.agent === voice.agent;
    const told = before?.announced ?? before?.system;
    this.#news = isSame && told !== voice.system ? voice.system : undefined;
    this.system = isSame ? before.system : voice.system;
    const { agent, model } = voice;
    this.#isVoiceKept = isSame && before.model === model && this.#news === undefined;
    this.#voice = {
      type: 'voice',
      agent,
      model,
      ...(this.system === undefined ? {} : { system: this.system }),
      ...(voice.system === this.system || voice.system === undefined ? {} : { announced: voice.system }),
    };
  }

  /** `onLost` is told once where keeping ends; on stderr by default. */
  static begin(folder: ThreadFolder, workspace: string, voice: Voice, onLost?: LossListener): Thread {
    const id = `thr_${randomBytes(9).toString('base64url').replaceAll(/[-_]/gu, '0')}`;
    return new Thread({ id, workspace, folder, voice, text: undefined, writer: undefined, onLost });
  }

  /** Throws a UsageError where the file is damaged, refused by the system, or open in another process. */
  static reopen(
    folder: ThreadFolder,
    { thread_id: id, workspace, path }: ListedThread,
    voice: Voice,
    onLost?: LossListener,
  ): Thread {
    const writer = new ThreadWriter(path, { onLost });
    try {
      return new Thread({ id, workspace, folder, voice, text: readThread(path), writer, onLost });
    } catch (error) {
      writer.close();
      throw error;
    }
  }

  get history(): readonly OutputItem[] {
    return this.#history;
  }

  /** The run that waits for a person; undefined once something else was said. */
  get waiting(): WaitingRun | undefined {
    return this.#waiting;
  }

  /** Whether there is a file to go on with. */
  get isKept(): boolean {
    return this.#writer !== undefined;
  }

  /** What a run is given of a prompt. Throws a UsageError where the first one cannot be kept. */
  prompt(text: string): OutputItem[] {
    this.#open(text);
    const news = this.#news;
    this.#news = undefined;
    if (!this.#isVoiceKept) this.#writer?.write(this.#voice);
    this.#isVoiceKept = true;
    return [...(news === undefined ? [] : [announcement(news)]), userMessage(text)];
  }

  take(event: StreamEvent): void {
    this.#run.push(event);
    this.#writer?.take(event);
  }

  /** The run has told all it had to tell. */
  endRun(): void {
    this.#history = extendHistory(this.#history, this.#run);
    this.#waiting = waitingRun(this.#run);
    this.#run = [];
  }

  close(): void {
    this.#writer?.close();
    this.#writer = undefined;
  }

  #open(title: string): void {
    if (this.#writer !== undefined) return;
    this.#folder.prepare();
    const head: ThreadHead = {
      type: 'thread',
      version: 1,
      thread_id: this.id,
      workspace: this.workspace,
      created_at: new Date().toISOString(),
      title: title.slice(0, TITLE_LENGTH),
    };
    this.#writer = new ThreadWriter(this.#folder.pathOf(this.id), { head, onLost: this.#onLost });
  }
}

function announcement(system: string): OutputItem {
  const content = `Since this conversation began, the tools or the instructions have changed. These hold from here on:\n\n${system}`;
  return { ...userMessage(content), role: 'system' } as OutputItem;
}
