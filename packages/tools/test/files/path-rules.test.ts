import { describe, expect, it } from 'vitest';
import { checkSpelling, quotePath, visible } from '#tools/files/path-rules.js';
import { PROTECTED_NAMES, protectedName } from '#tools/files/protected-names.js';

const none = new Set<string>();

describe('protected names', () => {
  it.each([
    '.git',
    '.git/config',
    '.git/hooks/pre-commit',
    'packages/a/.git/hooks/pre-commit',
    '.GIT/hooks/pre-commit',
    '.Git',
    '.git./hooks',
    '.git /config',
    '.git::$INDEX_ALLOCATION/config',
    'GIT~1/config',
    '.g\u200Cit/config',
    '.g\u200Bit/config',
    '.\uFEFFgit',
    '.ｇｉｔ/config',
    '.g\u00ADit',
    '.bashrc',
    'home/.BashRC',
    '.profile',
    '.zshrc',
    '.config/fish/config.fish',
    '.config/autostart/x.desktop',
    '.envrc',
    'toolscript.config.json',
    'sub/Toolscript.Config.JSON',
    '.claude/settings.json',
    '.codex/config.toml',
    'mcp.json',
    '.mcp.json',
    '.vscode/tasks.json',
    '.npmrc',
    '.ssh/authorized_keys',
    '.husky/pre-commit',
    'app/.devcontainer/devcontainer.json',
    '.opencode/config.json',
    '.windsurf/rules',
    '.zed/tasks.json',
    '.Rprofile',
    '.cargo/config.toml',
    '.hg/hgrc',
  ])('refuse %s', (path) => {
    expect(protectedName(path, none)).toBeDefined();
  });

  it.each([
    '.gitignore',
    '.gitattributes',
    '.github/workflows/ci.yml',
    'git/config',
    'src/.gitkeep',
    'AGENTS.md',
    '.env',
    'my.bashrc.md',
    'toolscript.config.json.md',
    'src/profile.ts',
    '.config/other/file',
    'dot.git/x',
  ])('do not include %s', (path) => {
    expect(protectedName(path, none)).toBeUndefined();
  });

  it('can be lifted one by one', () => {
    expect(protectedName('.vscode/settings.json', new Set(['.vscode']))).toBeUndefined();
    expect(protectedName('.git/config', new Set(['.vscode']))).toBeDefined();
  });

  it('are lower case, unique and have a reason', () => {
    const names = PROTECTED_NAMES.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, reason } of PROTECTED_NAMES) {
      expect(name).toBe(name.toLowerCase());
      expect(reason.length).toBeGreaterThan(10);
    }
  });
});

describe('spelling', () => {
  it.each([
    ['', 'empty'],
    ['a\0b', 'NUL'],
    ['a\uD800b', 'surrogate'],
    ['x'.repeat(256), '255 bytes'],
    ['é'.repeat(128), '255 bytes'],
    [`a/${'x/'.repeat(2100)}b`, '4096 bytes'],
  ])('refuses %j', (path, word) => {
    expect(() => checkSpelling(path)).toThrow(word);
  });

  it('accepts what file systems accept', () => {
    for (const path of ['a', './a', 'a/../b', 'x'.repeat(255), 'новый файл.txt', 'a b', '-rf', '😀'])
      checkSpelling(path);
  });

  it('is shown on one line with visible escapes', () => {
    expect(quotePath('a\nb\u202Etxt\u001b[31m')).toBe("'a\\u000ab\\u202etxt\\u001b[31m'");
    expect(visible('\u{E0041}')).toBe('\\u{e0041}');
    for (const filler of ['\ufe0f', '\u3164', '\u115f', '\u1160', '\uffa0', '\u2800', '\u034f', '\u180b', '\u{e0100}'])
      expect(quotePath(`a${filler}`)).not.toContain(filler);
    expect(quotePath('y'.repeat(5000)).length).toBeLessThan(200);
  });
});
