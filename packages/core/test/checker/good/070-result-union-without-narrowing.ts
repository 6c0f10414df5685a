// style: typed, reads the other case without a check
type Result = { ok: true; value: number } | { ok: false; error: string };
async function compute(expression: string): Promise<Result> {
  try {
    return { ok: true, value: (await tools.calculate({ expression })).result };
  } catch (e) {
    return { ok: false, error: e.message };
  }
}
const r = await compute('1 ? 2');
if (!r.ok) return { failed: r.error };
return { value: r.value };
