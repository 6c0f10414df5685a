import { describe, expect, it } from 'vitest';
import { readFiles, referencedFiles } from '#core/agent/sub-agents/stored-files.js';
import { sha256 } from '#core/text/crypto.js';

const CALL = { app: undefined, principal: undefined, threadId: 'thr_1' };

describe('a file that a model reads after an approval', () => {
  it('is the one that the user approved, or the call fails', async () => {
    let text = 'old';
    const documentText = async () => text;
    const references = await referencedFiles(['a', 'b'], documentText, CALL);
    expect(Object.keys(references)).toEqual(['the file "a"', 'the file "b"']);
    const covers = Object.entries(references).map(([what, found]) => ({ what, sha256: sha256(found) }));
    expect(await readFiles(['a'], documentText, { ...CALL, covers })).toHaveLength(1);
    text = 'new';
    await expect(readFiles(['a'], documentText, { ...CALL, covers })).rejects.toThrow('changed after the call');
  });
});
