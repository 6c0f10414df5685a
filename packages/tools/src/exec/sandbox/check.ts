import { Sandbox } from './client.js';
import type { SandboxRefusal } from './requirements.js';

/** Sets the sandbox of exec up and tries it out; what is in the way, or undefined where it works. */
export async function checkExecSandbox(): Promise<SandboxRefusal | undefined> {
  const sandbox = new Sandbox({ roots: [], allowedHosts: [] });
  try {
    return await sandbox.refusal();
  } finally {
    await sandbox.close();
  }
}
