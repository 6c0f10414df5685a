// style: careful about errors
const load = async (filePath) => {
  try {
    return JSON.parse((await tools.readFile({ filePath })).content);
  } catch (cause) {
    throw new Error(`cannot load ${filePath}`, { cause });
  }
};
try {
  await load('config/broken.json');
} catch (e) {
  return { message: e.message, cause: e.cause.name, chain: e.cause instanceof SyntaxError };
}
