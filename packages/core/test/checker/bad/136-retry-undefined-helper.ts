// line: 13
// about: backoff
const MAX_ATTEMPTS = 4;

async function reliably(key) {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    try {
      const { value } = await tools.unstable({ key, failures: 2 });
      return { key, value, attempt };
    } catch (e) {
      if (!(e instanceof ToolExecutionError)) throw e;
      console.log(`attempt ${attempt} of ${key} failed: ${e.message}`);
      await sleep(backoff(attempt));
    }
  }
  return { key, value: null, attempt: MAX_ATTEMPTS };
}

const results = await Promise.all(['a', 'b'].map(reliably));
return results.filter((r) => r.value !== null).length;
