/** Input files, patch, and what must come of it: the files (null: gone) or what the error says. */
export interface PatchCase {
  name: string;
  files?: Record<string, string>;
  patch: string;
  expected?: Record<string, string | null>;
  error?: RegExp;
}

/** The body of a patch between its first and last line. */
function patch(...lines: string[]): string {
  return ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
}

function update(path: string, ...lines: string[]): string {
  return patch(`*** Update File: ${path}`, ...lines);
}

export const PATCH_CASES: readonly PatchCase[] = [
  // Whole files
  {
    name: 'adds a file',
    patch: patch('*** Add File: a.txt', '+one', '+', '+two'),
    expected: { 'a.txt': 'one\n\ntwo\n' },
  },
  {
    name: 'adds a file in new folders',
    patch: patch('*** Add File: x/y/z.txt', '+deep'),
    expected: { 'x/y/z.txt': 'deep\n' },
  },
  { name: 'adds an empty file', patch: patch('*** Add File: empty'), expected: { empty: '' } },
  {
    name: 'adding over a file replaces it',
    files: { a: 'old\nold\n' },
    patch: patch('*** Add File: a', '+new'),
    expected: { a: 'new\n' },
  },
  {
    name: 'added lines may begin with + - @ * or a space',
    patch: patch('*** Add File: a', '++1', '+-2', '+@@', '+*** End Patch', '+ 3'),
    expected: { a: '+1\n-2\n@@\n*** End Patch\n 3\n' },
  },
  { name: 'deletes a file', files: { a: 'x\n', b: 'y\n' }, patch: patch('*** Delete File: a'), expected: { a: null } },
  { name: 'deletes a binary file', files: { a: 'x\0y' }, patch: patch('*** Delete File: a'), expected: { a: null } },
  {
    name: 'does several operations in order',
    files: { a: '1\n2\n', b: 'b\n' },
    patch: patch('*** Add File: c', '+c', '*** Update File: a', '@@', '-2', '+two', '*** Delete File: b'),
    expected: { a: '1\ntwo\n', b: null, c: 'c\n' },
  },
  {
    name: 'later operations see what earlier ones did',
    files: { a: '1\n' },
    patch: patch(
      '*** Update File: a',
      '@@',
      '-1',
      '+2',
      '*** Update File: a',
      '@@',
      '-2',
      '+3',
      '*** Add File: b',
      '+x',
      '*** Update File: b',
      '@@',
      '-x',
      '+y',
    ),
    expected: { a: '3\n', b: 'y\n' },
  },
  {
    name: 'a file deleted and added again is replaced',
    files: { a: 'old\n' },
    patch: patch('*** Delete File: a', '*** Add File: a', '+new'),
    expected: { a: 'new\n' },
  },
  {
    name: 'a file added and deleted again is nothing',
    patch: patch('*** Add File: a', '+x', '*** Delete File: a'),
    expected: {},
  },
  {
    name: 'blank lines between operations are nothing',
    files: { a: '1\n' },
    patch: patch('*** Update File: a', '@@', '-1', '+2', '', '*** Add File: b', '+b', '', '*** Delete File: b', ''),
    expected: { a: '2\n' },
  },

  // Moves
  {
    name: 'moves and changes a file',
    files: { a: '1\n2\n' },
    patch: update('a', '*** Move to: b/c', '@@', '-2', '+two'),
    expected: { a: null, 'b/c': '1\ntwo\n' },
  },
  {
    name: 'moves a file unchanged',
    files: { a: 'x\0' },
    patch: update('a', '*** Move to: b'),
    expected: { a: null, b: 'x\0' },
  },
  {
    name: 'a move overwrites what is there',
    files: { a: '1\n', b: 'old\n' },
    patch: update('a', '*** Move to: b', '@@', '-1', '+2'),
    expected: { a: null, b: '2\n' },
  },
  {
    name: 'a move onto itself is an update',
    files: { a: '1\n' },
    patch: update('a', '*** Move to: ./a', '@@', '-1', '+2'),
    expected: { a: '2\n' },
  },
  {
    name: 'a moved file can be updated under its new name',
    files: { a: '1\n' },
    patch: patch('*** Update File: a', '*** Move to: b', '*** Update File: b', '@@', '-1', '+2'),
    expected: { a: null, b: '2\n' },
  },
  {
    name: 'an old name is gone after a move',
    files: { a: '1\n' },
    patch: patch('*** Update File: a', '*** Move to: b', '*** Update File: a', '@@', '-1', '+2'),
    error: /'a' does not exist/,
  },

  // Finding hunks
  {
    name: 'replaces a line between kept ones',
    files: { a: '1\n2\n3\n' },
    patch: update('a', '@@', ' 1', '-2', '+two', ' 3'),
    expected: { a: '1\ntwo\n3\n' },
  },
  {
    name: 'the first hunk needs no @@',
    files: { a: '1\n2\n' },
    patch: update('a', ' 1', '-2', '+two'),
    expected: { a: '1\ntwo\n' },
  },
  {
    name: 'applies several hunks from top to bottom',
    files: { a: '1\n2\n3\n4\n5\n' },
    patch: update('a', '@@', '-1', '+one', '@@', ' 3', '-4', '@@', ' 5', '+six'),
    expected: { a: 'one\n2\n3\n5\nsix\n' },
  },
  {
    name: 'the same lines twice: each hunk goes on behind the last',
    files: { a: 'x\nend\nx\nend\n' },
    patch: update('a', '@@', '-x', '+y', '@@', '-x', '+z'),
    expected: { a: 'y\nend\nz\nend\n' },
  },
  {
    name: 'a context line says where',
    files: { a: 'f:\n  return\ng:\n  return\n' },
    patch: update('a', '@@ g:', '-  return', '+  return 1'),
    expected: { a: 'f:\n  return\ng:\n  return 1\n' },
  },
  {
    name: 'several context lines are passed one after the other',
    files: { a: 'f:\n  x\nclass A\n  f:\n    x\n  g:\n    x\n' },
    patch: update('a', '@@ class A', '@@   g:', '-    x', '+    y'),
    expected: { a: 'f:\n  x\nclass A\n  f:\n    x\n  g:\n    y\n' },
  },
  {
    name: 'the context line itself is passed by',
    files: { a: 'x\nx\n' },
    patch: update('a', '@@ x', '-x', '+y'),
    expected: { a: 'x\ny\n' },
  },
  {
    name: 'line numbers behind @@ mean nothing',
    files: { a: '1\n2\n' },
    patch: update('a', '@@ -7,1 +7,1 @@ f()', '-2', '+two'),
    expected: { a: '1\ntwo\n' },
  },
  {
    name: 'trailing white space may differ, and kept lines stay as they are',
    files: { a: 'keep  \nold\t\n' },
    patch: update('a', '@@', ' keep', '-old', '+new'),
    expected: { a: 'keep  \nnew\n' },
  },
  {
    name: 'indentation may differ, and kept lines stay as they are',
    files: { a: '\tkeep\n\told\n' },
    patch: update('a', '@@', '     keep', '-    old', '+\tnew'),
    expected: { a: '\tkeep\n\tnew\n' },
  },
  {
    name: 'typographic punctuation may differ',
    files: { a: 'say \u201Chi\u201D \u2014 it\u2019s\u00A0me\nold\n' },
    patch: update('a', '@@', ' say "hi" - it\'s me', '-old', '+new'),
    expected: { a: 'say \u201Chi\u201D \u2014 it\u2019s\u00A0me\nnew\n' },
  },
  {
    name: 'an exact match further down beats a loose one above',
    files: { a: '  x\ny\nx\n' },
    patch: update('a', '@@', '-x', '+z'),
    expected: { a: '  x\ny\nz\n' },
  },
  {
    name: 'only additions go to the end',
    files: { a: '1\n2\n' },
    patch: update('a', '@@', '+3', '+4'),
    expected: { a: '1\n2\n3\n4\n' },
  },
  {
    name: 'only additions go to the end, also before another hunk',
    files: { a: '1\n2\n' },
    patch: update('a', '@@', '+3', '@@', '-1', '+one'),
    expected: { a: 'one\n2\n3\n' },
  },
  {
    name: 'only removals',
    files: { a: '1\n2\n3\n' },
    patch: update('a', '@@', ' 1', '-2', ' 3'),
    expected: { a: '1\n3\n' },
  },
  {
    name: 'end of file means the last lines',
    files: { a: 'x\ny\nx\n' },
    patch: update('a', '@@', '-x', '+z', '*** End of File'),
    expected: { a: 'x\ny\nz\n' },
  },
  {
    name: 'end of file that is not at the end',
    files: { a: 'x\ny\n' },
    patch: update('a', '@@', '-x', '+z', '*** End of File'),
    error: /Hunk 1 of 'a'.*not the last of the file/s,
  },
  {
    name: 'a trailing blank line that the file does not have is forgiven',
    files: { a: '1\n2' },
    patch: update('a', '@@', ' 1', '-2', '+two', ' '),
    expected: { a: '1\ntwo' },
  },
  {
    name: 'an empty line of a hunk is a kept empty line',
    files: { a: '1\n\n2\n' },
    patch: update('a', '@@', ' 1', '', '-2', '+two'),
    expected: { a: '1\n\ntwo\n' },
  },
  {
    name: 'a hunk can empty a file',
    files: { a: '1\n2\n' },
    patch: update('a', '@@', '-1', '-2'),
    expected: { a: '' },
  },
  { name: 'an empty file can be filled', files: { a: '' }, patch: update('a', '@@', '+1'), expected: { a: '1\n' } },

  // Bytes
  {
    name: 'CRLF is kept, and new lines get it',
    files: { a: '1\r\n2\r\n3\r\n' },
    patch: update('a', '@@', ' 1', '-2', '+two', '+more'),
    expected: { a: '1\r\ntwo\r\nmore\r\n3\r\n' },
  },
  {
    name: 'mixed line ends stay mixed',
    files: { a: '1\r\n2\n3\r\n4\n' },
    patch: update('a', '@@', '-2', '+two', '@@', '-3', '+three'),
    expected: { a: '1\r\ntwo\nthree\r\n4\n' },
  },
  {
    name: 'a patch in CRLF fits a file in LF',
    files: { a: '1\n2\n' },
    patch: update('a', '@@', ' 1', '-2', '+two').replaceAll('\n', '\r\n'),
    expected: { a: '1\ntwo\n' },
  },
  {
    name: 'a missing final line end stays missing',
    files: { a: '1\n2' },
    patch: update('a', '@@', '-1', '+one'),
    expected: { a: 'one\n2' },
  },
  {
    name: 'a missing final line end stays missing when the last line changes',
    files: { a: '1\n2' },
    patch: update('a', '@@', '-2', '+two', '+three'),
    expected: { a: '1\ntwo\nthree' },
  },
  {
    name: 'a missing final line end stays missing when lines are appended',
    files: { a: '1\r\n2' },
    patch: update('a', '@@', '+3'),
    expected: { a: '1\r\n2\r\n3' },
  },
  {
    name: 'a byte order mark stays',
    files: { a: '\uFEFF1\n2\n' },
    patch: update('a', '@@', '-1', '+one'),
    expected: { a: '\uFEFFone\n2\n' },
  },
  {
    name: 'a lone carriage return is text',
    files: { a: '1\r2\n3\n' },
    patch: update('a', '@@', '-3', '+three'),
    expected: { a: '1\r2\nthree\n' },
  },

  // Wrappings
  {
    name: 'white space around the markers is forgiven',
    files: { a: '1\n' },
    patch: '  *** Begin Patch \n  *** Update File: a \n@@\n-1\n+2\n *** End Patch  \n',
    expected: { a: '2\n' },
  },
  {
    name: 'blank lines around the patch are forgiven',
    patch: `\n\n${patch('*** Add File: a', '+1')}\n\n`,
    expected: { a: '1\n' },
  },
  {
    name: 'a heredoc is taken off',
    patch: `<<'EOF'\n${patch('*** Add File: a', '+1')}\nEOF\n`,
    expected: { a: '1\n' },
  },
  {
    name: 'a heredoc with double quotes or none is taken off',
    patch: `<<PATCH\n${patch('*** Add File: a', '+1')}\nPATCH`,
    expected: { a: '1\n' },
  },
  {
    name: 'apply_patch with a heredoc is taken off',
    patch: `apply_patch <<"EOF"\n${patch('*** Add File: a', '+$HOME `x`')}\nEOF`,
    expected: { a: '$HOME `x`\n' },
  },
  {
    name: 'a code fence is taken off',
    patch: `\`\`\`patch\n${patch('*** Add File: a', '+1')}\n\`\`\``,
    expected: { a: '1\n' },
  },

  // What is not well formed
  { name: 'an empty text', patch: '', error: /patch is empty/ },
  { name: 'an empty patch', patch: patch(), error: /names no file/ },
  { name: 'no beginning', patch: '*** Add File: a\n+1\n*** End Patch', error: /line 1 .*must be '\*\*\* Begin Patch'/ },
  { name: 'no end', patch: '*** Begin Patch\n*** Add File: a\n+1', error: /line 3 .*must be '\*\*\* End Patch'/ },
  {
    name: 'a heredoc that is not closed',
    patch: `<<'EOF'\n${patch('*** Add File: a', '+1')}`,
    error: /last line must be EOF/,
  },
  { name: 'a bad header', patch: patch('*** Change File: a', '@@'), error: /line 2 .*expected '\*\*\* Add File/ },
  { name: 'a header without a name', patch: patch('*** Add File: ', '+1'), error: /line 2/ },
  { name: 'an update without a hunk', files: { a: '1\n' }, patch: update('a'), error: /update of 'a' has no hunk/ },
  {
    name: 'an empty hunk',
    files: { a: '1\n' },
    patch: update('a', '@@', '@@', '*** Delete File: a'),
    error: /hunk 1 is empty/,
  },
  {
    name: 'an empty hunk at the end',
    files: { a: '1\n' },
    patch: update('a', '@@', '-1', '+2', '@@'),
    error: /hunk 2 is empty/,
  },
  {
    name: 'end of file without lines',
    files: { a: '1\n' },
    patch: update('a', '@@', '*** End of File'),
    error: /hunk 1 has no lines/,
  },
  {
    name: 'a line without its sign',
    files: { a: '1\n' },
    patch: update('a', '@@', '-1', 'two'),
    error: /line 5 \('two'\).*must begin with/,
  },
  {
    name: 'an added line without its sign',
    patch: patch('*** Add File: a', '+1', 'two'),
    error: /line 4 .*begin with '\+'/,
  },
  {
    name: 'a unified diff',
    files: { a: '1\n' },
    patch: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n',
    error: /unified diff.*\*\*\* Begin Patch/s,
  },
  {
    name: 'a diff of git',
    files: { a: '1\n' },
    patch: 'diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n',
    error: /unified diff/,
  },

  // What does not fit
  {
    name: 'a hunk that is not there names file, hunk and nearest lines',
    files: { a: 'one\ntwo\nthree\n' },
    patch: update('a', '@@', ' one', '-TWO', '+2'),
    error:
      /Hunk 1 of 'a' \(line 3 of the patch\) does not match\. Expected:\n {2}one\n {2}TWO\nThe nearest lines in the file:\n {2}L1: one\n {2}L2: two\nNothing was changed\./,
  },
  {
    name: 'a line that is only alike is shown',
    files: { a: 'x\nconst total = sum(items);\n' },
    patch: update('a', '@@', '-const totals = sum(item);', '+y'),
    error: /L2: const total = sum\(items\);/,
  },
  {
    name: 'a hunk that was applied already says so',
    files: { a: '1\ntwo\n' },
    patch: update('a', '@@', ' 1', '-2', '+two'),
    error: /new lines are in the file already/,
  },
  {
    name: 'hunks out of order say so',
    files: { a: '1\n2\n3\n' },
    patch: update('a', '@@', '-3', '+three', '@@', '-1', '+one'),
    error: /Hunk 2 of 'a'.*begin at line 1, above line 4.*order of the file/s,
  },
  {
    name: 'a context line that is not there',
    files: { a: '1\n' },
    patch: update('a', '@@ nowhere', '-1', '+2'),
    error: /@@ line 'nowhere' is nowhere in the file/,
  },
  {
    name: 'an empty file has nothing to find',
    files: { a: '' },
    patch: update('a', '@@', '-1', '+2'),
    error: /file is empty/,
  },
  { name: 'a missing file', patch: update('none', '@@', '-1', '+2'), error: /'none' does not exist/ },
  { name: 'deleting a missing file', patch: patch('*** Delete File: none'), error: /'none' does not exist/ },
  { name: 'deleting a folder', files: { 'd/x': '' }, patch: patch('*** Delete File: d'), error: /'d' is a folder/ },
  { name: 'updating a folder', files: { 'd/x': '' }, patch: update('d', '@@', '-1', '+2'), error: /'d' is a folder/ },
  {
    name: 'a binary file',
    files: { a: 'x\0y\n' },
    patch: update('a', '@@', '-x', '+y'),
    error: /'a' is a binary file/,
  },
  {
    name: 'a file in the way of a folder',
    files: { a: 'x\n' },
    patch: patch('*** Add File: a/b', '+1'),
    error: /'a\/b' is not a folder, or a part of its path is not/,
  },
  {
    name: 'a new file in the way of a new folder',
    patch: patch('*** Add File: n', '+1', '*** Add File: n/m', '+2'),
    error: /'n\/m' cannot be made: the patch makes 'n' a file/,
  },
  {
    name: 'a path outside',
    patch: patch('*** Add File: ok', '+1', '*** Add File: ../evil', '+1'),
    error: /'\.\.\/evil' is outside/,
  },
  { name: 'an absolute path', patch: patch('*** Add File: /etc/evil', '+1'), error: /outside/ },
  {
    name: 'a move to the outside',
    files: { a: '1\n' },
    patch: update('a', '*** Move to: ../a', '@@', '-1', '+2'),
    error: /outside/,
  },
  { name: 'a protected file', patch: patch('*** Add File: .git/hooks/pre-commit', '+evil'), error: /protected/ },
  {
    name: 'a move onto a protected file',
    files: { a: '1\n' },
    patch: update('a', '*** Move to: .BashRC', '@@', '-1', '+2'),
    error: /protected/,
  },
  {
    name: 'a failure in the last of many',
    files: { a: '1\n', b: '2\n' },
    patch: patch('*** Add File: new/c', '+c', '*** Delete File: b', '*** Update File: a', '@@', '-x', '+y'),
    error: /Hunk 1 of 'a'/,
  },
];
