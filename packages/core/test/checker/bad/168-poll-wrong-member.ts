// line: 8
// about: status
// may: warn
const { jobId } = await tools.jobs.start({ kind: 'import' });

let job = await tools.jobs.status({ jobId });
let polls = 1;
while (job.status !== 'done') {
  if (polls++ > 10) throw new Error('the job takes too long');
  await sleep(5);
  job = await tools.jobs.status({ jobId });
}

return { polls, rows: job.result?.rows };
