import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { EditorAgent } from '../acp/editor-agent.js';
import type { ChatFlags } from '../chat/open-chat.js';
import { EXIT } from '../exit-status.js';
import { sharedEngines, type Engines } from '../harness/engines.js';
import { Screen } from '../terminal/screen.js';
import { ThreadDatabase } from '../threads/thread-database.js';

export type AcpFlags = Pick<
  ChatFlags,
  | 'agent'
  | 'model'
  | 'effort'
  | 'pack'
  | 'tools'
  | 'mcpConfig'
  | 'limit'
  | 'runtime'
  | 'execSandbox'
  | 'mode'
  | 'approve'
>;

const NOT_AN_EDITOR =
  'This is an agent for editors, which waits for messages of the Agent Client Protocol on stdin. Ctrl-C ends it; toolscript acp --help shows how an editor starts it.';

/** Serves one editor over stdin and stdout, until it disconnects. Only the protocol goes to stdout. */
export async function serveEditor(flags: AcpFlags, engines: Engines, version: string): Promise<number> {
  const ended = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), once(process, 'SIGHUP')]);
  const screen = new Screen(process.stderr, process.stderr, process.env);
  if (process.stdin.isTTY) screen.notice(NOT_AN_EDITOR);
  const database = await ThreadDatabase.open(process.env);
  const served = new EditorAgent({ flags, engines: sharedEngines(engines), screen, database, version });
  try {
    const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
    const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
    const connection = served.app.connect(ndJsonStream(output, input));
    await Promise.race([connection.closed, ended]);
  } finally {
    await served.close();
    await database.close();
  }
  return EXIT.completed;
}
