// line: 3
// about: setImmediate
const turn = () => new Promise((resolve) => setImmediate(resolve));
let status;
const { jobId } = await tools.jobs.start({ kind: 'export' });
do {
  await turn();
  status = await tools.jobs.status({ jobId });
} while (status.state !== 'done');
return status.result;
