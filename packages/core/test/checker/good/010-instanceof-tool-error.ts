// style: careful about errors
let attempts = 0;
while (true) {
  attempts++;
  try {
    const { value } = await tools.unstable({ key: 'alpha', failures: 2 });
    return { value, attempts };
  } catch (e) {
    if (e instanceof ToolExecutionError && attempts < 5) {
      await sleep(5 * attempts);
      continue;
    }
    throw e;
  }
}
