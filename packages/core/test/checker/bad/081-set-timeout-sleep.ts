// line: 3
// about: setTimeout
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let status;
const { jobId } = await tools.jobs.start({ kind: 'export' });
do {
  await wait(100);
  status = await tools.jobs.status({ jobId });
} while (status.state !== 'done');
return status.result;
