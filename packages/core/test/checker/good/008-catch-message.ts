// style: plain JavaScript
try {
  const file = await tools.readFile({ filePath: 'missing.txt' });
  return { ok: true, length: file.content.length };
} catch (e) {
  return { ok: false, why: e.message, isError: e instanceof Error };
}
