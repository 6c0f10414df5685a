import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isPlainGitConfig } from '#tools/exec/sandbox/git-config.js';
import { newFolder } from '@toolscript/testkit/folder';

describe('a configuration of git is plain', () => {
  const place = newFolder();
  const isPlain = (text: string): boolean => {
    writeFileSync(join(place, 'config'), text);
    return isPlainGitConfig(join(place, 'config'));
  };

  it('if git itself writes it', () => {
    expect(
      isPlain(
        '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\n# note\n[remote "origin"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
      ),
    ).toBe(true);
    expect(isPlain('')).toBe(true);
  });

  it.each([
    '[core]\nfsmonitor = x',
    '[core]\nworktree = /',
    '[core] fsmonitor = x',
    '[core]\nbare = \\\n[alias]\nx = !y',
    '[include]\npath = x',
    '[filter "x"]\nclean = y',
    '[remote "x"]\nurl = ext::sh -c y',
    '[remote "x"]\nuploadpack = y',
    '[remote "x"]\nurl = --upload-pack=y',
    '[extensions]\nworktreeConfig = true',
    'fsmonitor = x',
    '[core]\n[alias]\nbare = x',
    '[core]\nbare',
  ])('and never with %j', (text) => {
    expect(isPlain(text)).toBe(false);
  });

  it('but never if it is a large file', () => {
    expect(isPlain(`[core]\n${'#'.repeat(70_000)}`)).toBe(false);
  });

  it('but never if it is a link or a folder', () => {
    writeFileSync(join(place, 'plain'), '');
    symlinkSync('plain', join(place, 'link'));
    mkdirSync(join(place, 'folder'));
    expect(isPlainGitConfig(join(place, 'plain'))).toBe(true);
    for (const name of ['link', 'folder', 'none']) expect(isPlainGitConfig(join(place, name))).toBe(false);
  });
});
