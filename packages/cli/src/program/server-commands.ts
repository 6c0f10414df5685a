import type { Command } from 'commander';
import type { DeadLetterFlags } from '../commands/dead-letters.js';
import type { KeyFlags, NewKeyFlags } from '../commands/keys.js';
import type { ServeFlags } from '../commands/serve.js';
import type { StuckRunFlags } from '../commands/stuck-runs.js';
import { collect, example, type Settle } from './toolscript-command.js';

export function addServe(program: Command, settle: Settle): void {
  program
    .command('serve')
    .description('Serve conversations over HTTP, with a web page')
    .option('--port <port>', 'the port to listen on; 0 selects a free port (default: 4319)')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--workspace <folder>', 'the folder that tools may access (default: none, with the demo agent only)')
    .option('--open', 'open the web page in your browser')
    .option(
      '--store <url>',
      'the database of conversations and scripts: postgres://… or libsql:FILE (default: a file in the data folder)',
    )
    .option('--events <url>', 'the live events: redis://… or rediss://… (default: in the database)')
    .option('--role <roles>', 'the roles of this process: api, worker, persistence (default: all)')
    .option('--workers <number>', 'maximum concurrent runs (default: 8)')
    .option(
      '--runs-per-principal <number>',
      'maximum concurrent runs of one principal (default: one less than --workers)',
    )
    .option(
      '--log-level <level>',
      'the level of the log on stderr: trace, debug, info, warn, error, fatal, silent (default: warn)',
    )
    .option('--log-requests', 'log each request, at the level info')
    .option('--allow-host <name>', 'a further host name of the server; may be repeated', collect)
    .option('--allow-origin <origin>', 'the origin of pages that may call the server; may be repeated', collect)
    .option('--trusted-proxy <address>', 'a proxy whose X-Forwarded-For is trusted; may be repeated', collect)
    .addHelpText(
      'after',
      example(
        'toolscript serve --workspace my-project --open',
        'toolscript serve --port 0',
        'toolscript serve --store postgres://toolscript@db.example.com/toolscript',
        'toolscript serve --role worker --store postgres://db.example.com/toolscript --events redis://events.example.com',
        'toolscript serve --host 0.0.0.0 --allow-host tools.example.com',
      ),
    )
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('../commands/serve.js');
      settle(await serve(flags));
    });
}

export function addKeys(program: Command, settle: Settle): void {
  const keys = program.command('keys').description('Create, list and revoke the API keys of your server');
  keys
    .command('add')
    .argument('<name>', 'the user or program that gets the key')
    .description('Create a key and print it once')
    .option('--principal <name>', 'the owner of the threads, runs and approvals to access (default: the name)')
    .option('--scopes <scopes>', "the key's permissions: read, run, approve, admin (default: read,run)")
    .option('--expires <days>', 'the days until the key expires, such as 90d (default: it never expires)')
    .option('--store <url>', 'the database of your servers, postgres://… (default: the data folder of this machine)')
    .option('--output <file>', 'write the key to a new file that only you can read, instead of printing it')
    .option('--json', 'print the key as JSON')
    .addHelpText(
      'after',
      example(
        'toolscript keys add ci',
        'toolscript keys add phone --principal local --scopes read,approve',
        'toolscript keys add ci --store postgres://toolscript@db.example.com/toolscript --output ci.key',
      ),
    )
    .action(async (name: string, flags: NewKeyFlags) => settle(await (await keyCommands()).addKey(name, flags)));
  keys
    .command('list', { isDefault: true })
    .description('List the API keys, without their secrets')
    .option('--store <url>', 'the database of your servers, postgres://… (default: the data folder of this machine)')
    .option('--json', 'print them as JSON')
    .action(async (flags: KeyFlags) => settle(await (await keyCommands()).listKeys(flags)));
  keys
    .command('revoke')
    .argument('<keys...>', 'the names or ids of the keys')
    .description('Delete keys; a running server rejects them from then on')
    .option('--store <url>', 'the database of your servers, postgres://… (default: the data folder of this machine)')
    .action(async (names: string[], flags: KeyFlags) => settle(await (await keyCommands()).revokeKeys(names, flags)));
}

export function addAdmin(program: Command, settle: Settle): void {
  const admin = program.command('admin').description('Maintain a service');
  addStuckRuns(admin, settle);
  const letters = admin.command('dead-letter').description('Runs whose events the persistence workers could not store');
  const subcommand = (name: string) =>
    letters
      .command(name)
      .option('--store <url>', 'the database of the service (default: a file in the data folder)')
      .option('--events <url>', 'the live events of the service (default: in the database)');
  subcommand('list')
    .description('List the dead letters, with the first event that is missing and the reason')
    .option('--json', 'print them as JSON')
    .action(async (flags: DeadLetterFlags) => settle(await (await adminCommands()).listDeadLetters(flags)));
  subcommand('retry')
    .argument('<runs...>', 'the ids of runs')
    .description('Store the events of runs again')
    .action(async (runs: string[], flags: DeadLetterFlags) => settle(await (await adminCommands()).retry(runs, flags)));
  subcommand('drop')
    .argument('<runs...>', 'the ids of runs')
    .description('Delete the live events of runs; events that are stored in threads stay')
    .addHelpText('after', example('toolscript admin dead-letter drop run_… --events redis://events.example.com'))
    .action(async (runs: string[], flags: DeadLetterFlags) => settle(await (await adminCommands()).drop(runs, flags)));
}

function addStuckRuns(admin: Command, settle: Settle): void {
  const runs = admin.command('run').description('Runs that do not continue until an operator acts');
  const subcommand = (name: string) =>
    runs.command(name).option('--store <url>', 'the database of the service (default: a file in the data folder)');
  subcommand('list')
    .description('List the stuck runs, with their reasons')
    .option('--json', 'print them as JSON')
    .action(async (flags: StuckRunFlags) => settle(await (await stuckRunCommands()).listStuckRuns(flags)));
  subcommand('resume')
    .argument('<runs...>', 'the ids of parked runs')
    .description('Queue runs again that were parked after too many interruptions')
    .addHelpText(
      'after',
      example('toolscript admin run resume run_… --store postgres://toolscript@db.example.com/toolscript'),
    )
    .action(async (runs: string[], flags: StuckRunFlags) =>
      settle(await (await stuckRunCommands()).resumeStuckRuns(runs, flags)),
    );
}

function stuckRunCommands() {
  return import('../commands/stuck-runs.js');
}

function adminCommands() {
  return import('../commands/dead-letters.js');
}

function keyCommands() {
  return import('../commands/keys.js');
}
