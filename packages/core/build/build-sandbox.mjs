// Writes the sandbox's engine and images beside the compiled code. Run after `tsc -b`.
await import('../dist/sandbox/image-build/main.js');
