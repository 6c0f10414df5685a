// style: over-typed TypeScript
interface RetryOptions {
  retries: number;
  baseMs: number;
  onRetry?: (attempt: number, error: unknown) => void;
}

async function withRetry<T>(work: () => Promise<T>, { retries, baseMs, onRetry }: RetryOptions): Promise<T> {
  let lastError: unknown;
  for (let attempt = 0; attempt <= retries; attempt++) {
    try {
      return await work();
    } catch (error) {
      lastError = error;
      onRetry?.(attempt, error);
      await sleep(baseMs * 2 ** attempt);
    }
  }
  throw lastError;
}

const seen: string[] = [];
const result = await withRetry(() => tools.unstable({ key: 'beta', failures: 3 }), {
  retries: 4,
  baseMs: 1,
  onRetry: (attempt, error) => seen.push(`${attempt}: ${(error as Error).message}`),
});
return { result, seen };
