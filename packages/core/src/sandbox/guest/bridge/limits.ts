/** The limits of the running script. The image contains zeros; `begin` sets the script's own limits. */
export const limits = {
  calls: 0,
  builtinCalls: 0,
  input: 0,
  result: 0,
  logs: 0,
  logBytes: 0,
  output: 0,
  progress: 0,
};
