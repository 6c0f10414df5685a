import { Worker } from 'node:worker_threads';
import { failure, throwIfAborted } from '../failure.js';
import { visible } from '../files/path-rules.js';
import type { WebLimits } from './limits.js';
import type { ReadablePage, ReadRequest } from './read-page-worker.js';

const MAX_AT_ONCE = 2;

interface Reading {
  readonly signal: AbortSignal;
  /** True: no caller waits for the page, so its worker thread does not keep the process alive. */
  readonly isBackground: boolean;
}

/**
 * Converts HTML to Markdown. Each page has a separate worker thread, with limits on time and memory, because a parser
 * may need much of both for a hostile page.
 */
export class PageReader {
  readonly #limits: WebLimits;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: WebLimits) {
    this.#limits = limits;
  }

  /** Converts one page. Throws a ToolCallError for a page that cannot be converted within the limits. */
  async read(html: string, url: URL, waiting: Reading): Promise<ReadablePage> {
    if (this.#running >= MAX_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      throwIfAborted(waiting.signal);
      return await this.#inThread({ html, url: url.href }, url, waiting);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #inThread(request: ReadRequest, url: URL, { signal, isBackground }: Reading): Promise<ReadablePage> {
    const { readTimeoutMs, readMemoryMb } = this.#limits;
    const worker = new Worker(new URL('./read-page-worker.js', import.meta.url), {
      workerData: request,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      // defence: page-reader-memory
      resourceLimits: { maxOldGenerationSizeMb: readMemoryMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    });
    if (isBackground) worker.unref();
    const refuse = (why: string): Error =>
      failure(
        'unreadable',
        `The page of ${visible(url.host)} could not be converted to Markdown: ${why}. Read another page.`,
      );
    let timer: NodeJS.Timeout | undefined;
    let abort: (() => void) | undefined;
    return new Promise<ReadablePage>((resolve, reject) => {
      worker.on('message', (answer: ReadablePage | { problem: string }) =>
        'problem' in answer ? reject(refuse(answer.problem)) : resolve(answer),
      );
      worker.on('error', (error) => reject(refuse(threadProblem(error, readMemoryMb))));
      worker.on('exit', () => reject(refuse('its worker thread ended')));
      abort = () => reject(failure('aborted', 'The call was aborted before it ended.'));
      signal.addEventListener('abort', abort, { once: true });
      // defence: page-reader-time
      timer = setTimeout(() => reject(refuse(`the conversion takes longer than ${readTimeoutMs} ms`)), readTimeoutMs);
      if (isBackground) timer.unref();
    }).finally(() => {
      clearTimeout(timer);
      if (abort !== undefined) signal.removeEventListener('abort', abort);
      void worker.terminate();
    });
  }
}

function threadProblem(error: unknown, memoryMb: number): string {
  const isMemory = (error as { code?: string | undefined }).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isMemory ? `the conversion needs more than ${memoryMb} MB of memory` : 'it is not HTML that can be parsed';
}
