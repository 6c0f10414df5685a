import type { Screen } from '../terminal/screen.js';
import { showSuspended } from '../view/suspension-report.js';
import type { OpenChat } from './open-chat.js';

/** What waits for the person, and the commands that decide. */
export async function tellWhatWaits(
  { thread, workbench }: OpenChat,
  screen: Screen,
  isJson: boolean,
): Promise<boolean> {
  const { waiting } = thread;
  if (waiting === undefined) return false;
  const isKnown = isJson || workbench.approvals.hasAsked;
  showSuspended({
    scriptId: waiting.scriptId,
    details: isKnown ? undefined : await workbench.harness.inspect(waiting.scriptId),
    options: [],
    style: screen.style,
    write: isJson ? (line) => screen.warn(line) : (line) => screen.line(line),
  });
  return true;
}
