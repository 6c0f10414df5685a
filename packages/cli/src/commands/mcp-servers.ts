import { join, resolve } from 'node:path';
import { identifierName } from '@toolscript/core/internal';
import type { McpServerStatus, McpServers, UntrustedTool } from '@toolscript/mcp';
import { cancelQuestions } from '../approvals/server-form.js';
import { WORKSPACE_MCP_FILES, userFolder } from '../configuration/locations.js';
import { demandOwnFoldersOutside, workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { mcpPlace } from '../mcp/current-workspace.js';
import { changeServers, readMcpConfiguration, readWorkspaceFile, type McpConfiguration } from '../mcp/mcp-files.js';
import { HELD_BACK, connectServers } from '../mcp/open-servers.js';
import { noServer } from '../mcp/no-server.js';
import { serverLine, serverTarget } from '../mcp/server-line.js';
import { serverState } from '../mcp/server-state.js';
import { agrees } from '../approvals/agrees.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { shellWord } from '../terminal/own-command.js';
import { jsonText, visible, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

export interface McpServerFlags {
  cwd?: string | undefined;
  /** The path of an mcp.json that replaces the user's and the workspace's files. */
  config?: string | undefined;
  json?: boolean | undefined;
}

export interface AddFlags {
  cwd?: string | undefined;
  scope?: Scope | undefined;
  url?: string | undefined;
  openapi?: string | undefined;
  baseUrl?: string | undefined;
  header?: string[] | undefined;
  env?: string[] | undefined;
}

export interface TrustFlags extends McpServerFlags {
  /** True to trust the tools without a question. */
  yes?: boolean | undefined;
}

type Scope = 'user' | 'workspace';

/** Shows the effective servers with the source of each. Does not start the servers. */
export async function listServers(flags: McpServerFlags): Promise<number> {
  const screen = openScreen();
  const { servers } = await readMcpConfiguration(await mcpPlace(flags, screen));
  const listed = Object.entries(servers);
  if (flags.json === true)
    screen.write(
      `${jsonText(
        listed.map(([name, { entry, path: file }]) => ({ name, ...serverTarget(entry), file })),
        2,
      )}\n`,
    );
  else
    for (const [name, { entry, path }] of listed)
      screen.line(`${serverLine(name, entry)}  ${screen.style.dim(visibleLine(path))}`);
  if (listed.length === 0 && flags.json !== true)
    screen.line(
      'There are no MCP servers. To add one: toolscript mcp add NAME -- COMMAND, --url URL or --openapi DOCUMENT',
    );
  return EXIT.completed;
}

/** Adds a server to the file of the user or of the workspace. Does not start the server. */
export async function addServer(name: string, command: readonly string[], flags: AddFlags): Promise<number> {
  const entry = newServerEntry(command, flags);
  const path = await fileToEdit(flags);
  await changeServers(path, (servers) => {
    if (Object.hasOwn(servers, name))
      throw new UsageError(
        `${visibleLine(path)} has an MCP server ${visibleLine(name)} already. To replace it, first: toolscript mcp remove ${shellWord(name)}`,
      );
    return { ...servers, [name]: entry };
  });
  const screen = openScreen();
  screen.line(`Added to ${visibleLine(path)}: ${serverLine(name, entry)}`);
  if (flags.scope === 'workspace') screen.line(`To use it, trust the folder: toolscript trust`);
  else screen.line(`To try it: toolscript mcp test ${shellWord(name)}`);
  return EXIT.completed;
}

export async function removeServer(
  name: string,
  flags: { cwd?: string | undefined; scope?: Scope | undefined },
): Promise<number> {
  const path = await fileToEdit(flags);
  await changeServers(path, (servers) => {
    if (!Object.hasOwn(servers, name)) throw noServer(name, Object.keys(servers), path);
    const { [name]: _removed, ...others } = servers;
    return others;
  });
  openScreen().line(`Removed from ${visibleLine(path)}: ${visibleLine(name)}`);
  return EXIT.completed;
}

/**
 * Starts servers and shows the tools of each. Returns the exit status 1 if a server does not work, or if the
 * workspace's file is not used.
 */
export async function testServers(names: readonly string[], flags: McpServerFlags): Promise<number> {
  const screen = openScreen();
  const place = await mcpPlace(flags, screen);
  const configuration = await readMcpConfiguration(place);
  return withServers(configuration, names, place.workspace, async (servers) => {
    const status = servers?.status() ?? [];
    if (flags.json === true) screen.write(`${jsonText(status, 2)}\n`);
    else for (const server of status) showState(screen, server);
    if (status.length === 0 && flags.json !== true) screen.line('There are no MCP servers to test.');
    const areConnected = status.every(({ state }) => state === 'connected');
    return areConnected && !configuration.isPartial ? EXIT.completed : EXIT.failed;
  });
}

/** Shows the untrusted tools of a server, and trusts these tools if the user agrees. */
export async function trustServer(name: string, flags: TrustFlags): Promise<number> {
  const screen = openScreen();
  const place = await mcpPlace(flags, screen);
  return withServers(await readMcpConfiguration(place), [name], place.workspace, async (servers) => {
    const [server] = servers?.status() ?? [];
    if (server?.state !== 'connected')
      throw new UsageError(server?.problem ?? `${name} is not connected. To find the cause: toolscript doctor`);
    if (server.untrusted.length === 0) {
      screen.line(`All tools of ${visibleLine(name)} are trusted already.`);
      return EXIT.completed;
    }
    for (const tool of server.untrusted) showUntrustedTool(screen, tool);
    if (flags.yes !== true && !(await agrees('Trust them?', 'Read the definitions above, then add --yes.'))) {
      screen.line('Nothing was trusted.');
      return EXIT.failed;
    }
    await servers!.trust(name, server.untrusted);
    screen.line(`Trusted: ${server.untrusted.map((tool) => visibleLine(tool.name)).join(', ')}`);
    return EXIT.completed;
  });
}

async function withServers(
  { servers }: McpConfiguration,
  names: readonly string[],
  workspace: string,
  act: (servers: McpServers | undefined) => Promise<number>,
): Promise<number> {
  for (const name of names) if (!Object.hasOwn(servers, name)) throw noServer(name, Object.keys(servers));
  const chosen = Object.entries(servers).filter(([name]) => names.length === 0 || names.includes(name));
  // Warnings are omitted, because the status contains the problem.
  const options = { environment: process.env, warn: () => {}, ...cancelQuestions() };
  const opened = await connectServers(Object.fromEntries(chosen), workspace, options);
  try {
    return await act(opened);
  } finally {
    await opened?.close();
  }
}

function showState(screen: Screen, server: McpServerStatus): void {
  const { style } = screen;
  const { status, detail, fix } = serverState(server);
  const isConnected = server.state === 'connected';
  const mark = status === 'ok' ? style.green('✓') : isConnected ? style.yellow('!') : style.red('✗');
  screen.line(`${mark} ${visibleLine(`${server.name}  ${detail}`)}`);
  for (const tool of server.tools) screen.line(`    ${visibleLine(`tools.${identifierName(tool)}`)}`);
  if (fix !== undefined && isConnected) screen.line(`    ${style.dim(`→ ${visibleLine(fix)}`)}`);
}

function showUntrustedTool(screen: Screen, { name, change, description, definition }: UntrustedTool): void {
  screen.line(`${screen.style.bold(visibleLine(name))} (${HELD_BACK[change]})`);
  for (const line of visible(description).split('\n')) screen.line(`  ${line}`);
  for (const [member, value] of Object.entries(definition))
    if (value !== undefined) screen.line(`  ${member}: ${visibleLine(JSON.stringify(value))}`);
}

function newServerEntry(command: readonly string[], flags: AddFlags): object {
  const { url, openapi, baseUrl, header = [], env = [] } = flags;
  const [program, ...args] = command;
  if ([program, url, openapi].filter((target) => target !== undefined).length !== 1)
    throw new UsageError(
      'Give one of these: the command of the server, after --, its address with --url, or an OpenAPI document with --openapi: toolscript mcp add NAME -- COMMAND, toolscript mcp add NAME --url URL, or toolscript mcp add NAME --openapi DOCUMENT',
    );
  if (baseUrl !== undefined && openapi === undefined)
    throw new UsageError('--base-url is for an OpenAPI document. Omit --base-url, or use --openapi.');
  if (program !== undefined) {
    if (header.length > 0)
      throw new UsageError('--header is for a server with --url or --openapi. Omit --header, or use --env.');
    return { command: program, args, ...(env.length === 0 ? {} : { env: optionPairs(env, '=', '--env') }) };
  }
  demandAddress('--url', url);
  demandAddress('--base-url', baseUrl);
  if (env.length > 0) throw new UsageError('--env is for a server with a command. Omit --env, or use --header.');
  const headers = header.length === 0 ? {} : { headers: optionPairs(header, ':', '--header') };
  return openapi === undefined ? { url, ...headers } : { openapi: documentPlace(openapi), baseUrl, ...headers };
}

function demandAddress(option: string, text: string | undefined): void {
  const isAddress =
    text === undefined || text.includes('${') || (URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol));
  if (!isAddress)
    throw new UsageError(`${option} is "${visibleLine(text)}". Use an address that begins with http:// or https://.`);
}

/** The address of a document as it is, or the absolute path of its file. */
function documentPlace(document: string): string {
  return /^https?:\/\//iu.test(document) || document.includes('${') ? document : resolve(document);
}

function optionPairs(texts: readonly string[], separator: string, option: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf(separator);
      if (at < 1) throw new UsageError(`${option} is "${visibleLine(text)}". Write: ${option} NAME${separator}VALUE`);
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    }),
  );
}

async function fileToEdit({ cwd, scope }: { cwd?: string | undefined; scope?: Scope | undefined }): Promise<string> {
  if (scope !== 'workspace') return userFolder(process.env).mcpFile;
  const workspace = await workspaceFolder(cwd);
  demandOwnFoldersOutside(workspace, process.env);
  return (await readWorkspaceFile(workspace))?.path ?? join(workspace, WORKSPACE_MCP_FILES[0]);
}
