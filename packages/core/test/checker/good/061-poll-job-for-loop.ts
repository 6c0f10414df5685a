// style: plain JavaScript, everything declared first
var job, status, i;
job = await tools.jobs.start({ kind: 'broken' });
for (i = 0; i < 10; i++) {
  status = await tools.jobs.status({ jobId: job.jobId });
  if (status.state === 'failed') {
    break;
  }
}
return { polls: i, error: status.error };
