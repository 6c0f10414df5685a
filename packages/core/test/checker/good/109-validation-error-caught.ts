// style: careful about errors
const attempts: any[] = [
  { filePath: 'README.md', maxBytes: -1 },
  { filePath: 'README.md', maxBytes: 20 },
];
const log: string[] = [];
for (const args of attempts) {
  try {
    const file = await tools.readFile(args);
    log.push(`${file.content.length} of ${file.size}, truncated: ${file.truncated}`);
  } catch (error) {
    if (error instanceof ToolValidationError) log.push(error.name);
    else throw error;
  }
}
return log;
