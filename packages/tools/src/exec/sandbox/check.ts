import { Sandbox } from './client.js';
import type { SandboxRefusal } from './requirements.js';

/** Sets up and tests the sandbox of exec. Returns the obstacle, or undefined if the sandbox works. */
export async function checkExecSandbox(): Promise<SandboxRefusal | undefined> {
  const sandbox = new Sandbox({ roots: [], allowedHosts: [] });
  try {
    return await sandbox.refusal();
  } finally {
    await sandbox.close();
  }
}
