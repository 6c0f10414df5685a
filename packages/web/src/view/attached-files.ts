import { ATTACHED_FILE_TAG } from '@toolscript/core/stream';

/** A text file that the user attached to a prompt. */
export interface AttachedFile {
  readonly name: string;
  readonly text: string;
}

/** A block at the end of a message. The tag of the block does not occur in the block's text. */
const BLOCK = /^\n\n<(?<tag>[a-z-]+) name="(?<name>[^"<>\n]*)">\n(?<text>[\s\S]*?)\n<\/\k<tag>>$/u;

/** The message that the model reads: the prompt, then each file in a block with its name. */
export function withFiles(prompt: string, files: readonly AttachedFile[]): string {
  return prompt + files.map(attachedBlock).join('');
}

/** The prompt and the files of a message. */
export function filesIn(message: string): { readonly prompt: string; readonly files: readonly AttachedFile[] } {
  const files: AttachedFile[] = [];
  let prompt = message;
  for (let start = lastBlock(prompt); start !== -1; start = lastBlock(prompt)) {
    const { name = '', text = '' } = BLOCK.exec(prompt.slice(start))?.groups ?? {};
    files.unshift({ name, text });
    prompt = prompt.slice(0, start);
  }
  return { prompt, files };
}

function attachedBlock({ name, text }: AttachedFile): string {
  let tag: string = ATTACHED_FILE_TAG;
  while (text.includes(`<${tag}`) || text.includes(`</${tag}`)) tag += '-x';
  return `\n\n<${tag} name="${name.replaceAll(/["<>\n]/gu, '_')}">\n${text}\n</${tag}>`;
}

/** The index at which the last block of a message starts; -1 if the message does not end with a block. */
function lastBlock(message: string): number {
  const end = message.slice(message.lastIndexOf('\n') + 1);
  const tag = /^<\/(?<tag>[a-z-]+)>$/u.exec(end)?.groups?.['tag'];
  if (tag?.startsWith(ATTACHED_FILE_TAG) !== true || !/^(?:-x)*$/u.test(tag.slice(ATTACHED_FILE_TAG.length))) return -1;
  const start = message.lastIndexOf(`\n\n<${tag} name="`);
  return start !== -1 && BLOCK.test(message.slice(start)) ? start : -1;
}
