// line: 7
// about: id
const job = await tools.jobs.start({ kind: 'export', payload: { table: 'orders' } });
console.log('started', job.jobId);

for (let i = 0; i < 5; i++) {
  const state = await tools.jobs.status({ id: job.jobId });
  if (state.state === 'done') return state.result;
  await sleep(10);
}

return null;
