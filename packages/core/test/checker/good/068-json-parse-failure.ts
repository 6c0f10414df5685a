// style: careful about errors
function tryParse(content: string) {
  try {
    return { ok: true, value: JSON.parse(content) };
  } catch (error) {
    return { ok: false, error: error.name };
  }
}
const paths = ['config/app.json', 'config/broken.json'];
const results = {};
for (const filePath of paths) {
  const { content } = await tools.readFile({ filePath });
  const parsed = tryParse(content);
  results[filePath] = parsed.ok ? Object.keys(parsed.value).length : parsed.error;
}
return results;
