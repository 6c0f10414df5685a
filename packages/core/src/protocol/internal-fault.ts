/** The error for a state that only a fault of Toolscript itself can cause. `problem` is a complete sentence. */
export function internalFault(problem: string, options?: ErrorOptions): Error {
  return new Error(`${problem} This is a fault of Toolscript; please report it with this message.`, options);
}
