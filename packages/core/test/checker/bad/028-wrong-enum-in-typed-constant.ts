// line: 5
// about: csv
type Kind = 'csv' | 'xml';
const kind: Kind = 'csv';
const { jobId } = await tools.jobs.start({ kind });
let status = await tools.jobs.status({ jobId });
while (status.state !== 'done' && status.state !== 'failed') {
  await sleep(10);
  status = await tools.jobs.status({ jobId });
}
return status.result?.url;
