import type { Command } from 'commander';
import type { KeyFlags, NewKeyFlags } from '../commands/keys.js';
import type { ServeFlags } from '../commands/serve.js';
import type { Settle } from './options.js';
import { collect, example } from './toolscript-command.js';

export function addServe(program: Command, settle: Settle): void {
  program
    .command('serve')
    .description('Serve conversations over HTTP, with a web page')
    .option('--port <port>', 'the port to listen on; 0 selects a free one (default: 4319)')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--workspace <folder>', 'the folder that tools may access (default: none, with the demo agent only)')
    .option('--open', 'open the web page in your browser')
    .option(
      '--store <url>',
      'the database of conversations and scripts: postgres://… or libsql:FILE (default: a file in the data folder)',
    )
    .option('--workers <number>', 'maximum concurrent runs (default: 8)')
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
    .argument('<name>', 'the user or program of the key')
    .description('Create a key and print it once')
    .option('--principal <name>', 'the owner of the threads, runs and approvals that it can access (default: the name)')
    .option('--scopes <scopes>', 'its permissions, out of read, run, approve and admin (default: read,run)')
    .option('--expires <days>', 'its expiry, such as 90d (default: never)')
    .option('--json', 'print the key as JSON')
    .addHelpText(
      'after',
      example('toolscript keys add ci', 'toolscript keys add phone --principal local --scopes read,approve'),
    )
    .action(async (name: string, flags: NewKeyFlags) => settle(await (await keyCommands()).addKey(name, flags)));
  keys
    .command('list', { isDefault: true })
    .description('List the keys, without their secrets')
    .option('--json', 'print them as JSON')
    .action(async (flags: KeyFlags) => settle(await (await keyCommands()).listKeys(flags)));
  keys
    .command('revoke')
    .argument('<keys...>', 'their names or ids')
    .description('Delete keys; a running server rejects them from then on')
    .action(async (names: string[]) => settle(await (await keyCommands()).revokeKeys(names)));
}

function keyCommands() {
  return import('../commands/keys.js');
}
