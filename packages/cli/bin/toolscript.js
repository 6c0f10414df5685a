#!/usr/bin/env node
// Runs on any Node, so that one that is too old is told so instead of failing on syntax.
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `toolscript: Node ${process.versions.node} is too old. Install Node 20.19 or newer (https://nodejs.org).\n`,
  );
  process.exitCode = 2;
} else {
  import('../bundle/start.cjs').catch((error) => {
    const unbuilt = error.code === 'ERR_MODULE_NOT_FOUND' && String(error.message).includes('start.cjs');
    process.stderr.write(
      unbuilt ? 'toolscript: The program is not built yet. Run: npm run build\n' : `toolscript: ${error.stack}\n`,
    );
    process.exitCode = 2;
  });
}
