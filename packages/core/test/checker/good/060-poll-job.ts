// style: typed
const { jobId } = await tools.jobs.start({ kind: 'export', payload: { format: 'csv' } });
let status = await tools.jobs.status({ jobId });
const seen = [status.state];
while (status.state !== 'done' && status.state !== 'failed') {
  await sleep(2);
  status = await tools.jobs.status({ jobId });
  seen.push(status.state);
}
return { seen, rows: status.result.rows };
