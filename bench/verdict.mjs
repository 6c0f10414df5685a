/**
 * The verdict on a run. `failures`: ratios beyond their budgets, which fail a check. `unmet`: absolute budgets, which
 * fail a strict one only, because they depend as much on the machine as on the code.
 */
export function judge(rows) {
  const failures = [];
  const unmet = [];
  const broken = rows.filter((row) => row.broken).map(({ name }) => name);
  const blind = rows
    .filter(({ atLeast, ratios }) => atLeast !== undefined && ratios.every((ratio) => ratio.atLeast === undefined))
    .map(({ name }) => name);
  let compared = 0;
  for (const row of rows) {
    for (const { name, times, atLeast, holds } of row.ratios) {
      if (atLeast === undefined) continue;
      compared++;
      if (!holds) failures.push(`${row.name}: ${times.toFixed(2)}× better than ${name}, the budget is ${atLeast}×`);
    }
    if (row.budget === undefined) continue;
    if (row.selfRatio) compared++;
    if (row.budget.holds) continue;
    const value = row.figures.find(({ role }) => role === 'ours')[row.limitOf ?? 'median'];
    (row.selfRatio ? failures : unmet).push(
      `${row.name}: ${Number(value.toPrecision(3))} ${row.unit}, the budget is ${row.budget.limit}`,
    );
  }
  return { failures, unmet, broken, blind, compared };
}

/** The reason of a failed run, or undefined. A wrong answer fails every run. A check that compared nothing fails. */
export function failureOf({ failures, unmet, broken, blind, compared }, { check, strict }) {
  if (broken.length > 0) return `${broken.join(', ')} could not be measured`;
  if (check && blind.length > 0) return `no peer of ${blind.join(', ')} could be measured`;
  if (check && compared === 0) return 'no ratio could be compared';
  if (check && failures.length > 0) return `${failures.length} ratios are beyond their budgets`;
  if (strict && unmet.length > 0) return `${unmet.length} absolute budgets are not met`;
  return undefined;
}
