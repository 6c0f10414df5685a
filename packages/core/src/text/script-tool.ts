/** The tool whose argument `code` is a script. */
export const SCRIPT_TOOL = 'run_script';
