// style: over-typed TypeScript
type Ok<T> = { ok: true; value: T };
type Err<E> = { ok: false; error: E };
type Result<T, E = Error> = Ok<T> | Err<E>;

const attempt = async <T,>(work: () => Promise<T>): Promise<Result<T>> => {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error: error as Error };
  }
};

const results = await Promise.all([
  attempt(() => tools.calculate({ expression: '10 / 4' })),
  attempt(() => tools.calculate({ expression: '10 / 0' })),
]);
return results.map((result) => (result.ok ? result.value.result : result.error.message));
