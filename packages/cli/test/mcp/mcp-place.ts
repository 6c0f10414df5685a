import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { Scene } from '../chat/scene.js';

/** A place with MCP servers: one that sends mails, and the reference servers of the protocol. */
export class McpPlace extends Scene {
  readonly userFile = join(this.base, 'config', 'toolscript', 'mcp.json');
  readonly workspaceFile = join(this.workspace, 'mcp.json');

  /** The user's servers. */
  useServers(servers: Record<string, unknown>): this {
    mkdirSync(dirname(this.userFile), { recursive: true });
    writeFileSync(this.userFile, JSON.stringify({ mcpServers: servers }));
    return this;
  }

  useWorkspaceServers(servers: Record<string, unknown>): this {
    writeFileSync(this.workspaceFile, JSON.stringify({ mcpServers: servers }));
    return this;
  }

  mail(more: Record<string, unknown> = {}, files: Record<string, string> = {}): Record<string, unknown> {
    const folder = this.mailFolder;
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const server = join(import.meta.dirname, 'fixtures/mail-server.mjs');
    return { command: process.execPath, args: [server, folder], ...more };
  }

  get mailFolder(): string {
    return join(this.base, 'mail');
  }

  get mailWasStarted(): boolean {
    return existsSync(join(this.mailFolder, 'pid'));
  }

  get mailIsRunning(): boolean {
    try {
      return process.kill(Number(readFileSync(join(this.mailFolder, 'pid'), 'utf8')), 0);
    } catch {
      return false;
    }
  }

  /** The value of a script that must complete. */
  async evaluate(code: string, ...flags: string[]): Promise<unknown> {
    const { status, stdout, stderr } = await this.run(['eval', '-e', code, '--json', ...flags]);
    expect(status, stdout + stderr).toBe(0);
    return (JSON.parse(stdout) as { value: unknown }).value;
  }
}
