import { Option, type Command } from 'commander';
import type { InstallFlags } from '../commands/mcp-install.js';
import type { LoginFlags } from '../commands/mcp-login.js';
import type { AddFlags, McpServerFlags, TrustFlags } from '../commands/mcp-servers.js';
import type { McpFlags } from '../commands/mcp.js';
import { collect, example, type Settle } from './toolscript-command.js';

const SERVER = 'the server, as mcp.json names it';
const CONFIG = 'the servers of this file, in place of your own and those of the workspace';

/** `toolscript mcp`: the gateway, and the servers that it combines. */
export function addMcp(program: Command, settle: Settle): void {
  const mcp = program
    .command('mcp')
    .description('Offer your MCP servers to another program as one server that runs scripts, or manage your servers')
    .option('--config <file>', CONFIG)
    .option('--http <host:port>', 'serve Streamable HTTP at /mcp, with a token (default: use stdin and stdout)')
    .addOption(new Option('--tools <set>', 'also offer the tools for work on a folder').choices(['coding']))
    .option('--cwd <folder>', 'the workspace (default: the folders of the client, or this folder)')
    .addOption(
      new Option(
        '--approve <who>',
        'the policy for calls that need an approval (default: the user of the client or of a terminal decides)',
      ).choices(['auto', 'deny', 'ask']),
    )
    .option('--log-level <level>', 'with --http: the level of the log on stderr (default: warn)')
    .option('--allow-host <name>', 'with --http: a further host name of the server; may be repeated', collect)
    .option(
      '--allow-origin <origin>',
      'with --http: the origin of pages that may call the server; may be repeated',
      collect,
    )
    .addHelpText(
      'after',
      example(
        'toolscript mcp add memory -- npx -y @modelcontextprotocol/server-memory',
        'toolscript mcp test',
        'claude mcp add toolscript -- toolscript mcp',
        'toolscript mcp --config team.json --http 127.0.0.1:4320',
      ),
    )
    .action(async (flags: McpFlags) => {
      const { serveMcp } = await import('../commands/mcp.js');
      settle(await serveMcp(flags));
    });
  addList(mcp, settle);
  addAdd(mcp, settle);
  addRemove(mcp, settle);
  addTest(mcp, settle);
  addTrust(mcp, settle);
  addLogin(mcp, settle);
  addInstall(mcp, settle);
}

function addList(mcp: Command, settle: Settle): void {
  mcp
    .command('list')
    .description('Show the servers with the file that names each, without starting them')
    .option('--json', 'print the servers as JSON')
    .action(async (_flags: object, command: Command) => {
      const { listServers } = await commands();
      settle(await listServers(command.optsWithGlobals<McpServerFlags>()));
    });
}

function addAdd(mcp: Command, settle: Settle): void {
  mcp
    .command('add')
    .argument('<name>', 'the name of the server: scripts write tools.mcp.NAME.TOOL')
    .argument('[command...]', 'after --: the program and its arguments')
    .description('Add a server to your mcp.json')
    .option('--url <url>', 'the address of a remote server, in place of a command')
    .option('--openapi <document>', 'the path or the address of an OpenAPI document, in place of a command')
    .option('--base-url <url>', 'the address of the API, with --openapi')
    .option(
      '--header <name:value>',
      'a header of requests to the server, such as Authorization:Bearer ${TOKEN}; may be repeated',
      collect,
    )
    .option('--env <name=value>', "a variable of the server's environment; may be repeated", collect)
    .addOption(new Option('--scope <scope>', 'the owner of the file (default: user)').choices(['user', 'workspace']))
    .addHelpText(
      'after',
      example(
        'toolscript mcp add memory -- npx -y @modelcontextprotocol/server-memory',
        "toolscript mcp add docs --url https://example.com/mcp --header 'Authorization:Bearer ${DOCS_TOKEN}'",
        'toolscript mcp add pets --openapi https://api.example.com/openapi.json',
      ),
    )
    .action(async (name: string, words: string[], _flags: object, command: Command) => {
      const { addServer } = await commands();
      settle(await addServer(name, words, command.optsWithGlobals<AddFlags>()));
    });
}

function addRemove(mcp: Command, settle: Settle): void {
  mcp
    .command('remove')
    .argument('<name>', SERVER)
    .description('Remove a server from your mcp.json')
    .addOption(new Option('--scope <scope>', 'the owner of the file (default: user)').choices(['user', 'workspace']))
    .action(async (name: string, _flags: object, command: Command) => {
      const { removeServer } = await commands();
      settle(await removeServer(name, command.optsWithGlobals<AddFlags>()));
    });
}

function addTest(mcp: Command, settle: Settle): void {
  mcp
    .command('test')
    .argument('[names...]', 'the servers (default: all)')
    .description('Start servers, and show the tools of each')
    .option('--json', "print the servers' states as JSON")
    .action(async (names: string[], _flags: object, command: Command) => {
      const { testServers } = await commands();
      settle(await testServers(names, command.optsWithGlobals<McpServerFlags>()));
    });
}

function addTrust(mcp: Command, settle: Settle): void {
  mcp
    .command('trust')
    .argument('<name>', SERVER)
    .description('Show the tools of a server that are new or have changed, and trust them')
    .option('--yes', 'trust the tools without a question')
    .action(async (name: string, _flags: object, command: Command) => {
      const { trustServer } = await commands();
      settle(await trustServer(name, command.optsWithGlobals<TrustFlags>()));
    });
}

function addLogin(mcp: Command, settle: Settle): void {
  mcp
    .command('login')
    .argument('<name>', SERVER)
    .description('Log in to a remote server with your browser')
    .action(async (name: string, _flags: object, command: Command) => {
      const { logIn } = await import('../commands/mcp-login.js');
      settle(await logIn(name, command.optsWithGlobals<LoginFlags>()));
    });
}

function addInstall(mcp: Command, settle: Settle): void {
  mcp
    .command('install')
    .argument('<client>', 'claude-code, codex, cursor, gemini, opencode or vscode')
    .description('Add Toolscript to the configuration of a client, after showing the change')
    .option('--remove', 'remove Toolscript from the configuration')
    .option('--yes', 'write the change without a question')
    .addHelpText('after', example('toolscript mcp install claude-code', 'toolscript mcp install codex --remove'))
    .action(async (client: string, flags: InstallFlags) => {
      const { installIn } = await import('../commands/mcp-install.js');
      settle(await installIn(client, flags));
    });
}

function commands() {
  return import('../commands/mcp-servers.js');
}
