// style: an AbortController of its own
const controller = new AbortController();
const timer = sleep(50).then(() => controller.abort());

try {
  const { value } = await tools.unstable({ key: 'slow', failures: 0 });
  return value;
} finally {
  await timer;
}
