/** A state machine. States are plain JSON values; `next` and `broken` change nothing. */
export interface Machine<State> {
  readonly start: State;
  /** The steps that are possible in a state, each with its name and the state that it leads to. */
  next(state: State): readonly (readonly [step: string, to: State])[];
  /** The law that the state breaks. `isLast`: no step is possible. */
  broken(state: State, isLast: boolean): string | undefined;
}

export interface Exploration {
  /** The number of different states. */
  readonly states: number;
  /** A shortest sequence of steps to a state that breaks a law. Undefined: no reachable state breaks one. */
  readonly refutation?: { readonly law: string; readonly steps: readonly string[] } | undefined;
}

/** Visits every reachable state, the ones after fewer steps first, until one breaks a law. */
export function explore<State>({ start, next, broken }: Machine<State>): Exploration {
  interface Visit {
    readonly state: State;
    readonly step: string;
    readonly before: Visit | undefined;
  }
  const known = new Set([JSON.stringify(start)]);
  let level: Visit[] = [{ state: start, step: '', before: undefined }];
  while (level.length > 0) {
    const after: Visit[] = [];
    for (const visit of level) {
      const steps = next(visit.state);
      const law = broken(visit.state, steps.length === 0);
      if (law !== undefined) return { states: known.size, refutation: { law, steps: stepsTo(visit) } };
      for (const [step, state] of steps) {
        const key = JSON.stringify(state);
        if (known.has(key)) continue;
        known.add(key);
        after.push({ state, step, before: visit });
      }
    }
    level = after;
  }
  return { states: known.size };

  function stepsTo(last: Visit): string[] {
    const steps: string[] = [];
    for (let visit = last; visit.before !== undefined; visit = visit.before) steps.unshift(visit.step);
    return steps;
  }
}
