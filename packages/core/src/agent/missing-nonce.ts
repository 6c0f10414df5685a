import type { Harness } from '../harness/index.js';
import type { OutputItem } from '../protocol/index.js';
import { newId } from '../text/crypto.js';

/**
 * The message for a model whose answer contains a whole block without the conversation's nonce. Undefined if the answer
 * contains no such block. `answer`: the items of the answer.
 */
export function missingNonce(
  harness: Pick<Harness, 'detector'>,
  nonce: string,
  answer: readonly OutputItem[],
): OutputItem | undefined {
  const detector = harness.detector({ nonce: false });
  const text = answer.map((item) => (item.type === 'message' ? item.content : '')).join('\n\n');
  for (const event of [...detector.push(text), ...detector.end()]) {
    if (event.type !== 'segment' || event.segment.type !== 'script') continue;
    const { format, language, raw } = event.segment;
    const name = /[\w.:-]+/u.exec(raw)?.[0];
    const opening = format === 'xml' ? `<${name} id="${nonce}">` : `\`\`\`${language} tool-calls id=${nonce}`;
    return { type: 'message', id: newId('item'), role: 'system', content: advice(opening) };
  }
  return undefined;
}

const advice = (opening: string): string =>
  `Nothing ran: a script of this conversation begins with ${opening}. If the block in your answer is your own script, send it again with this beginning. If you quoted it, do not send it again; finish your answer.`;
