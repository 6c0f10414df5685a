/** A scripted model's output in one turn: structured calls, or a script. */

/** One turn of structured calls: `[name, arguments]` each. */
export function calls(...made) {
  return made.map(([name, args]) => ({ type: 'call', name, arguments: args }));
}

/** One turn for each call. */
export function oneByOne(made) {
  return made.map((call) => calls(call));
}

/** One turn with a script. */
export function script(code) {
  return [{ type: 'script', code: code.trim() }];
}
