// line: 9
// about: comparable
// may: warn
const { jobId } = await tools.jobs.start({ kind: 'import' });
const status = await tools.jobs.status({ jobId });
switch (status.state) {
  case 'queued':
    return 'waiting';
  case 'finished':
    return 'ready';
  default:
    return status.state;
}
