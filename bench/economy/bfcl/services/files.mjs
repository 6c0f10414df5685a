import { flag, list, text, whole } from './schemas.mjs';

const NONE = { default: 'None' };
const here = (what) => text(`Name of the ${what} in the current directory. Paths are refused.`);

/** @type {import('./schemas.mjs').Service} */
export const files = {
  about:
    'One of the tools of a small file system. With them a user moves from directory to directory, makes files and directories, reads files, writes into them, searches them, and tidies up behind it. What this tool does:',
  open: ({ tree = {}, cwd } = {}) => {
    const [root] = Object.keys(tree);
    return { tree: structuredClone(tree), path: [cwd ?? root ?? 'home'] };
  },
  tools: [
    {
      name: 'cat',
      does: 'Shows what a file of the current directory holds, whatever its extension.',
      takes: { file_name: here('file to show') },
      gives: { file_content: text('All that the file holds.') },
      as: 'file',
      run: (state, { file_name }) => ({ file_content: fileOf(state, file_name) }),
    },
    {
      name: 'cd',
      does: 'Makes another directory the current one.',
      takes: {
        folder: text('The directory to go to. One level at a time, downwards by its name and upwards by two dots.'),
      },
      gives: { current_working_directory: text('Path of the directory that is current now.') },
      run: (state, { folder }) => {
        if (folder === '..') state.path.pop();
        else if (isDirectory(directoryOf(state)[folder])) state.path.push(folder);
        else throw new Error(`There is no directory ${folder}.`);
        return { current_working_directory: state.path.at(-1) };
      },
    },
    {
      name: 'cp',
      does: 'Copies a file or a directory. Where the destination is a directory, the copy goes into it. Both stand in the current directory.',
      takes: {
        source: here('file or directory to copy'),
        destination: text('What the copy is called, or the directory that it goes into. Paths are refused.'),
      },
      gives: { result: text('What was copied where, or why it was not.') },
      run: (state, { source, destination }) => {
        place(state, source, destination, structuredClone(directoryOf(state)[source]));
        return { result: `'${source}' copied to '${destination}/${source}'` };
      },
    },
    {
      name: 'diff',
      does: 'Compares two files of the current directory line by line, whatever their extensions.',
      takes: { file_name1: here('first file'), file_name2: here('second file') },
      gives: { diff_lines: text('What differs between both.') },
      as: 'difference',
      run: (state, { file_name1, file_name2 }) => {
        const [one, other] = [file_name1, file_name2].map((name) => fileOf(state, name).split('\n'));
        const lines = one.flatMap((line, index) =>
          line === other[index] ? [] : [`- ${line}`, `+ ${other[index] ?? ''}`],
        );
        return { diff_lines: lines.join('\n') };
      },
    },
    {
      name: 'du',
      does: 'Estimates how much space a directory and all in it take.',
      takes: { human_readable: flag('Gives the size with a unit, such as KB or MB, for people.', { default: false }) },
      gives: { disk_usage: text('The estimate.') },
      as: 'usage',
      run: (state) => ({ disk_usage: `${sizeOf(directoryOf(state))} bytes` }),
    },
    {
      name: 'echo',
      does: 'Writes a text into a file of the current directory, or shows it where no file is named.',
      takes: {
        content: text('The text to write or to show.'),
        file_name: text('Name of the file in the current directory that gets the text. None by default.', NONE),
      },
      gives: { terminal_output: text('The text where no file is named; nothing where it went into a file.') },
      run: (state, { content, file_name }) => {
        directoryOf(state)[file_name] = content;
        return { terminal_output: 'None' };
      },
    },
    {
      name: 'find',
      does: 'Finds the files and directories below a path whose names contain a word, whatever their extensions. Without a word it gives all of them. It looks through every directory below the path too, however deep.',
      takes: {
        path: text('The directory to begin with. The current one (".") by default.', { default: '.' }),
        name: text('The word to look for in names. None gives everything.', NONE),
      },
      gives: { matches: list('string', 'Paths of what was found, as seen from the path.') },
      as: 'found',
      run: (state, { path, name }) => {
        const paths = pathsIn(path === '.' ? directoryOf(state) : directoryOf(state)[path], path);
        return { matches: name === 'None' ? paths : paths.filter((one) => one.split('/').at(-1).includes(name)) };
      },
    },
    {
      name: 'grep',
      does: 'Finds the lines of a file of the current directory that contain a pattern, whatever its extension.',
      takes: { file_name: here('file to search'), pattern: text('The pattern to look for.') },
      gives: { matching_lines: list('string', 'The lines that have it.') },
      as: 'lines',
      run: (state, { file_name, pattern }) => ({
        matching_lines: fileOf(state, file_name)
          .split('\n')
          .filter((line) => line.includes(pattern)),
      }),
    },
    {
      name: 'ls',
      does: 'Lists what the current directory holds.',
      takes: { a: flag('Lists hidden files and directories too. Not by default.', { default: false }) },
      gives: { current_directory_content: list('string', 'Names of what the directory holds.') },
      as: 'listing',
      run: (state, { a }) => ({
        current_directory_content: Object.keys(directoryOf(state)).filter((name) => a || !name.startsWith('.')),
      }),
    },
    {
      name: 'mkdir',
      does: 'Makes a directory in the current one.',
      takes: { dir_name: text('What the new directory is called. It can be made in the current directory only.') },
      gives: {},
      run: (state, { dir_name }) => {
        directoryOf(state)[dir_name] = {};
        return {};
      },
    },
    {
      name: 'mv',
      does: 'Moves a file or a directory, or gives it another name.',
      takes: {
        source: here('file or directory to move'),
        destination: text(
          'Where it goes: a directory in the current one, or, where there is none of that name, what it is called from now on. Paths are refused.',
        ),
      },
      gives: { result: text('What was moved where.') },
      run: (state, { source, destination }) => {
        const directory = directoryOf(state);
        const moved = directory[source];
        place(state, source, destination, moved);
        delete directory[source];
        return { result: `'${source}' moved to '${destination}/${source}'` };
      },
    },
    {
      name: 'pwd',
      does: 'Gives the path of the current directory.',
      takes: {},
      gives: { current_working_directory: text('Path of the current directory.') },
      as: 'path',
      run: (state) => ({ current_working_directory: `/${state.path.join('/')}` }),
    },
    {
      name: 'rm',
      does: 'Deletes a file or a directory.',
      takes: { file_name: text('Name of the file or directory to delete.') },
      gives: { result: text('What was deleted, or why it was not.') },
      run: (state, { file_name }) => remove(state, file_name),
    },
    {
      name: 'rmdir',
      does: 'Deletes a directory of the current one.',
      takes: { dir_name: text('Name of the directory to delete. It stands in the current directory.') },
      gives: { result: text('What was deleted, or why it was not.') },
      run: (state, { dir_name }) => remove(state, dir_name),
    },
    {
      name: 'sort',
      does: 'Sorts the lines of a file.',
      takes: { file_name: here('file to sort') },
      gives: { sorted_content: text('What the file holds, sorted.') },
      as: 'sorted',
      run: (state, { file_name }) => ({ sorted_content: fileOf(state, file_name).split('\n').sort().join('\n') }),
    },
    {
      name: 'tail',
      does: 'Shows the end of a file, whatever its extension.',
      takes: {
        file_name: here('file to show'),
        lines: whole('How many lines are shown, counted from the end. 10 by default.', { default: 10 }),
      },
      gives: { last_lines: text('The end of the file.') },
      as: 'end',
      run: (state, { file_name, lines }) => ({
        last_lines: fileOf(state, file_name).split('\n').slice(-lines).join('\n'),
      }),
    },
    {
      name: 'touch',
      does: 'Makes a file of any extension in the current directory.',
      takes: { file_name: text('What the new file is called. It stands in the current directory; paths are refused.') },
      gives: {},
      run: (state, { file_name }) => {
        directoryOf(state)[file_name] = '';
        return {};
      },
    },
    {
      name: 'wc',
      does: 'Counts the lines, words or characters of a file of the current directory, whatever its extension.',
      takes: {
        file_name: here('file to count'),
        mode: text("What is counted: 'l' for lines, 'w' for words, 'c' for characters.", { default: 'l' }),
      },
      gives: {
        count: whole('How many lines, words or characters the file has.'),
        type: text('What was counted. One of "lines", "words", "characters".'),
      },
      as: 'counted',
      run: (state, { file_name, mode }) => countOf(fileOf(state, file_name), mode),
    },
  ],
};

function directoryOf({ tree, path }) {
  return path.reduce((directory, name) => directory[name], tree);
}

function isDirectory(entry) {
  return typeof entry === 'object';
}

function fileOf(state, name) {
  const entry = directoryOf(state)[name];
  if (typeof entry !== 'string') throw new Error(`There is no file ${name}.`);
  return entry;
}

/** Adds an entry to the directory `destination`, or under this name if there is no such directory. */
function place(state, source, destination, entry) {
  const directory = directoryOf(state);
  if (entry === undefined) throw new Error(`There is no ${source}.`);
  if (isDirectory(directory[destination])) directory[destination][source] = entry;
  else directory[destination] = entry;
}

function remove(state, name) {
  const directory = directoryOf(state);
  if (directory[name] === undefined) throw new Error(`There is no ${name}.`);
  delete directory[name];
  return { result: `'${name}' removed` };
}

function sizeOf(entry) {
  if (!isDirectory(entry)) return entry.length;
  return Object.values(entry).reduce((sum, inner) => sum + sizeOf(inner), 0);
}

function pathsIn(directory, path) {
  return Object.entries(directory).flatMap(([name, entry]) => {
    const own = `${path}/${name}`;
    return isDirectory(entry) ? [own, ...pathsIn(entry, own)] : [own];
  });
}

function countOf(content, mode) {
  if (mode === 'c') return { count: content.length, type: 'characters' };
  if (mode === 'w') return { count: content.split(/\s+/u).filter(Boolean).length, type: 'words' };
  return { count: content.split('\n').length, type: 'lines' };
}
