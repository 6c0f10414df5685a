// line: 13
// about: retries
const config = { retries: 3, delayMs: 5 };
const retries = config.retries;
let value = null;

while (retries > 0 && value === null) {
  try {
    const result = await tools.unstable({ key: 'gamma', failures: 1 });
    value = result.value;
  } catch (e) {
    console.log('failed, trying again', e.message);
    retries--;
    await sleep(config.delayMs);
  }
}

return value ?? 'gave up';
