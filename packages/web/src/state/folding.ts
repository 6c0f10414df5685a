const KEY = 'toolscript-scripts';

/** Whether scripts that ended before the page was opened are shown as one line. */
export function foldsScripts(): boolean {
  return localStorage.getItem(KEY) !== 'open';
}

export function setFoldsScripts(isOn: boolean): void {
  localStorage.setItem(KEY, isOn ? 'folded' : 'open');
}
