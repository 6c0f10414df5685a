import { Command, type Argument, type ErrorOptions, type Option } from 'commander';
import { didYouMean, nearestName } from '../nearest-name.js';
import { ownCommand, shellWord } from '../terminal/own-command.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** Reports the exit status of a command. */
export type Settle = (status: number) => void;

/** The names that other programs use for a subcommand. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  delete: ['rm', 'del', 'remove', 'erase'],
  rename: ['mv', 'title'],
  export: ['cat', 'save', 'print'],
  show: ['cat', 'view', 'inspect'],
  prune: ['clean', 'gc'],
  remove: ['rm', 'delete', 'uninstall'],
  add: ['install', 'new'],
  test: ['check', 'get', 'status'],
  login: ['auth', 'signin'],
  approve: ['allow', 'accept'],
  deny: ['refuse', 'reject'],
};

/** The names of a list subcommand. A command without such a subcommand lists its items when it is run alone. */
const LIST = ['list', 'ls'];

/** A command that reports wrong usage with the problem, its cause and the correct form. */
export class ToolscriptCommand extends Command {
  override createCommand(name?: string): ToolscriptCommand {
    return new ToolscriptCommand(name);
  }

  override error(message: string, { code = '' }: ErrorOptions = {}): never {
    throw new UsageError(mistypedCommand(this) ?? describe(this, message, code) ?? message.replace(/^error: /u, ''));
  }
}

/** Examples for the end of a command's help. */
export function example(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/** The options of the command line, as they can be given to another process, except these. */
export function givenOptions(command: Command, except: readonly string[]): string[] {
  return command.options.flatMap((option) => {
    const name = option.attributeName();
    if (except.includes(name) || command.getOptionValueSource(name) !== 'cli') return [];
    const value: unknown = command.getOptionValue(name);
    const flag = optionFlag(option);
    return value === true ? [flag] : [value].flat().flatMap((one) => [flag, String(one)]);
  });
}

/** Throws a UsageError if a prompt of one word is similar to the name of a command: the word is probably mistyped. */
export function refuseMistypedCommand(chat: Command): void {
  const sentence = chat.args.length === 1 ? mistypedCommand(chat) : undefined;
  if (sentence !== undefined) throw new UsageError(sentence);
}

/** Throws a UsageError if an option or a required argument is an empty text. */
export function refuseEmpty(command: Command): void {
  for (let one: Command | null = command; one !== null; one = one.parent)
    for (const option of one.options)
      if (isEmpty(one.getOptionValue(option.attributeName())))
        throw new UsageError(`${optionFlag(option)} is empty. Write: ${option.flags}`);
  const empty = command.registeredArguments.findIndex(
    ({ required }, index) => required && isEmpty(command.processedArgs[index]),
  );
  if (empty !== -1) throw new UsageError(argumentSentence(command, empty, 'is empty'));
}

/** Finds a command by the names on its path. Throws a UsageError if there is no such command. */
export function findCommand(program: Command, names: readonly string[]): Command {
  return names.reduce((parent, name) => {
    const found = parent.commands.find((command) => command.name() === name);
    if (found !== undefined) return found;
    const known = didYouMean(name, namesIn(parent)) || ` ${ownCommand()} help lists them.`;
    throw new UsageError(`There is no command ${visibleLine(names.join(' '))}.${known}`);
  }, program);
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0 || value.some(isEmpty);
  return typeof value === 'string' && value.trim() === '';
}

/** Explains a mistyped command. Returns undefined for a prompt whose first word is not similar to a command. */
function mistypedCommand(command: Command): string | undefined {
  const [word] = command.args;
  const { parent } = command;
  if (word === undefined || parent === null || !/^\w[\w-]*$/u.test(word)) return undefined;
  if (command.commands.length > 0) return mistypedSubcommand(command, word);
  const isDefault = parent.args[0] !== command.name();
  return isDefault ? mistypedFirstWord(parent, word) : undefined;
}

function mistypedFirstWord(program: Command, word: string): string | undefined {
  const nearest = nearestName(word, namesIn(program));
  if (nearest === undefined) return undefined;
  const [own, words] = [ownCommand(), program.args];
  if (nearest === word) {
    const others = words.toSpliced(words.indexOf(word), 1);
    return `The command ${word} comes after its options. Write it first: ${own} ${shellWords([word, ...others])}`;
  }
  return `There is no command ${word}. Did you mean ${nearest}? Write: ${own} ${shellWords(replacedWord(words, word, nearest))} (as a prompt: ${own} chat ${shellWords(words)})`;
}

function mistypedSubcommand(command: Command, word: string): string {
  const name = commandPath(command);
  const problem = `There is no command ${name} ${word}.`;
  const own = ownCommand();
  const candidates = namesIn(command).flatMap((known) => [known, ...(SYNONYMS[known] ?? [])]);
  // A command without a `list` subcommand lists its items when it is run alone.
  const lists = namesIn(command).includes('list') ? [] : LIST;
  const nearest = nearestName(word, [...candidates, ...lists]);
  if (nearest !== undefined && lists.includes(nearest)) return `${problem} To list: ${own} ${name}`;
  const meant = namesIn(command).find(
    (known) => nearest !== undefined && [known, ...(SYNONYMS[known] ?? [])].includes(nearest),
  );
  if (meant === undefined)
    return `${problem} The commands are ${namesIn(command).join(', ')}; ${own} ${name} --help describes them.`;
  const words = replacedWord(rootCommand(command).args, word, meant);
  return `${problem} Did you mean ${meant}? Write: ${own} ${shellWords(words)}`;
}

function namesIn(command: Command): string[] {
  return command.commands.map((known) => known.name());
}

function replacedWord(words: readonly string[], word: string, by: string): string[] {
  return words.with(words.indexOf(word), by);
}

function shellWords(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}

/** Describes a mistake of the command line. Returns undefined if the parser's own message is sufficient. */
function describe(command: Command, message: string, code: string): string | undefined {
  const [first = '', second = ''] = [...message.matchAll(/'(.*?)'/gu)].map(([, quoted]) => quoted as string);
  const named = (flags: string) => command.options.find((option) => option.flags === flags);
  switch (code) {
    case 'commander.missingArgument': {
      const index = command.registeredArguments.findIndex((argument) => argument.name() === first);
      return argumentSentence(command, index, 'is missing');
    }
    case 'commander.excessArguments':
      return excessSentence(command);
    case 'commander.unknownOption':
      return unknownOptionSentence(command, first);
    case 'commander.optionMissingArgument':
      return optionSentence(named(first), 'has no value');
    case 'commander.invalidArgument':
      return optionSentence(named(first), `cannot be ${visibleLine(second)}`);
    case 'commander.conflictingOption': {
      const flags = [first, second].map((option) => optionFlag(named(option)) ?? option);
      return `${flags.join(' and ')} cannot be used together. Remove one of them.`;
    }
    default:
      return undefined;
  }
}

function argumentSentence(command: Command, index: number, problem: string): string {
  const all = command.registeredArguments;
  const given = all.map((argument, at) => (at < index ? shellWord(command.args[at] ?? '') : placeholder(argument)));
  const usage = [ownCommand(), commandPath(command), ...given].join(' ');
  return `${placeholder(all[index]!)} ${problem}: ${all[index]!.description}. Write: ${usage}`;
}

function placeholder(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function excessSentence(command: Command): string {
  const { length } = command.registeredArguments;
  const takes = ['no arguments', 'one argument'][length] ?? `${length} arguments`;
  const excess = command.args.slice(length).map((word) => visibleLine(word));
  return `${commandPath(command)} takes ${takes}, and ${excess.join(' ')} is too much. Remove it, or put words that belong together in quotes.`;
}

function unknownOptionSentence(command: Command, flag: string): string {
  const help = command.createHelp();
  // The program's own options can follow the name of each command.
  const own = [command, command.parent ?? command].flatMap((one) => help.visibleOptions(one));
  const flags = own.flatMap(({ long }) => long ?? []);
  const fix = didYouMean(flag, flags) || ` ${ownCommand()} ${commandPath(command)} --help lists them.`;
  return `${commandPath(command)} has no option ${visibleLine(flag)}.${fix}`;
}

function optionSentence(option: Option | undefined, problem: string): string | undefined {
  if (option === undefined) return undefined;
  const { argChoices, flags } = option;
  return `${optionFlag(option)} ${problem}. Write: ${argChoices === undefined ? flags : `${optionFlag(option)} ${argChoices.join('|')}`}`;
}

function optionFlag(option: Option): string;
function optionFlag(option: Option | undefined): string | undefined;
function optionFlag(option: Option | undefined): string | undefined {
  return option?.long ?? option?.short;
}

/** The full name of a command, such as `mcp add`, without the name of the program. */
function commandPath(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${commandPath(parent)} ${command.name()}`;
}

function rootCommand(command: Command): Command {
  return command.parent === null ? command : rootCommand(command.parent);
}
