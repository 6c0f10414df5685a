// style: over-typed TypeScript
type State = Awaited<ReturnType<typeof tools.jobs.status>>['state'];
const SYMBOLS: Record<State, string> = { queued: '…', running: '>', done: '✓', failed: '✗' };
function describe(state: State): string {
  switch (state) {
    case 'queued':
    case 'running':
      return `${SYMBOLS[state]} working`;
    case 'done':
      return `${SYMBOLS[state]} ready`;
    case 'failed':
      return `${SYMBOLS[state]} failed`;
    default: {
      const impossible: never = state;
      throw new Error(impossible);
    }
  }
}
const { jobId } = await tools.jobs.start({ kind: 'import' });
const seen: string[] = [];
for (let i = 0; i < 3; i++) seen.push(describe((await tools.jobs.status({ jobId })).state));
return seen;
