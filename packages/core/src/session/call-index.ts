/** The index at the end of a call's id. */
export function callIndexOf(callId: string): number {
  return Number(callId.slice(callId.lastIndexOf('_') + 1));
}
