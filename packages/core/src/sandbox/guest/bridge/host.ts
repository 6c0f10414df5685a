/**
 * The host's function. Without an argument it informs the host that a call is being made, so that the host can count
 * the call and read its position in the script. With a question it returns the host's answer; see `guest-texts.ts`.
 */
export type GuestHost = (question?: string) => unknown;

let callHost: GuestHost = () => {};

export function connectHost(host: GuestHost): void {
  callHost = host;
}

export function notifyHost(): void {
  callHost();
}

export function askHost(question: string): string {
  return callHost(question) as string;
}
