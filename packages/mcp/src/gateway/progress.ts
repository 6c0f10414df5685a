import type { ServerContext } from '@modelcontextprotocol/server';
import type { StreamEvent } from '@toolscript/core';

/** Clients give up after a time without news, often 60 s. */
const PROGRESS_MS = 10_000;

/**
 * Forwards the progress of a script as progress of the call, if the client requests it. While the script reports
 * nothing, the client gets a message every `quietMs`.
 */
export async function withProgress<Result>(
  { mcpReq }: ServerContext,
  quietMs: number = PROGRESS_MS,
  run: (onEvent: (event: StreamEvent) => void) => Promise<Result>,
): Promise<Result> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return run(() => {});
  const startedAt = performance.now();
  let progress = 0;
  let isOver = false;
  const send = (message: string) => {
    // The script may outlive the call.
    if (isOver) return;
    progress += 1;
    const params = { progressToken, progress, message };
    // A disconnected client needs no progress.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  const running = () => send(`still running after ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  const timer = setInterval(running, quietMs);
  try {
    return await run(({ payload }) => {
      if (payload.type !== 'script_progress') return;
      timer.refresh();
      send(payload.message);
    });
  } finally {
    isOver = true;
    clearInterval(timer);
  }
}
