import { Argument, type Command } from 'commander';

/** A command with what may follow it. */
interface Completed {
  /** The names of the commands before it, and its own: `mcp add`. Empty for the program. */
  readonly path: string;
  readonly commands: readonly Command[];
  readonly options: readonly { readonly flags: readonly string[]; readonly description: string }[];
}

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof SHELLS;

/** Adds the command that prints a completion script. `makeWhole` returns a program with all commands. */
export function addCompletion(program: Command, makeWhole: () => Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .description('Print a script that completes commands and options in your shell')
    .addHelpText(
      'after',
      `
To install it:
  bash  echo 'source <(toolscript completion bash)' >> ~/.bashrc
  zsh   echo 'source <(toolscript completion zsh)' >> ~/.zshrc
  fish  toolscript completion fish > ~/.config/fish/completions/toolscript.fish
`,
    )
    .action((shell: Shell) => void process.stdout.write(SHELLS[shell](allCommands(makeWhole()))));
}

function allCommands(command: Command, path = ''): Completed[] {
  const commands = command.commands.filter((one) => one.name() !== 'help' || path === '');
  // The name of the command chat may be omitted.
  const chat = path === '' ? commands.filter((one) => one.name() === 'chat') : [];
  const options = [command, ...chat].flatMap((one) => one.createHelp().visibleOptions(one));
  const own = {
    path,
    commands,
    options: options.map(({ short, long, description }) => ({
      flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
      description,
    })),
  };
  return [own, ...commands.flatMap((one) => allCommands(one, `${path} ${one.name()}`.trim()))];
}

function bashScript(all: readonly Completed[]): string {
  const words = ({ commands, options }: Completed) =>
    [...commands.map((one) => one.name()), ...options.flatMap(({ flags }) => flags)].join(' ');
  const paths = all.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  return `_toolscript() {
  local path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${paths.join(' | ')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${all.map((one) => `    ${quoted(one.path)}) words=${quoted(words(one))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _toolscript toolscript
`;
}

function zshScript(all: readonly Completed[]): string {
  return `autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${bashScript(all)}`;
}

function fishScript(all: readonly Completed[]): string {
  const lines = all.flatMap(({ path, commands, options }) => {
    const names = path.split(' ');
    const within = names.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ');
    const deeper = commands.map((one) => one.name()).join(' ');
    const notYet = path === '' ? '__fish_use_subcommand' : `${within}; and not __fish_seen_subcommand_from ${deeper}`;
    const condition = path === '' ? '__fish_use_subcommand' : within;
    return [
      ...commands.map((one) => `-n ${quoted(notYet)} -a ${one.name()} -d ${quoted(one.description())}`),
      ...options.map(({ flags, description }) => {
        const forms = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        return `-n ${quoted(condition)} ${forms.join(' ')} -d ${quoted(description)}`;
      }),
    ];
  });
  return `${lines.map((line) => `complete -c toolscript ${line}`).join('\n')}\n`;
}

/** A word in single quotes, which Bash, Zsh and Fish read alike. Descriptions lose their apostrophes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’').replaceAll('\n', ' ').replaceAll('\\', '')}'`;
}
