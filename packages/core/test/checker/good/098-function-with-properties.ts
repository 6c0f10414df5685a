// style: plain JavaScript, members on functions
function log(message) {
  log.lines.push(`[${log.level}] ${message}`);
}
log.lines = [];
log.level = 'info';
const { exists } = await tools.stat({ filePath: 'README.md' });
log('exists: ' + exists);
log.level = 'warn';
log('no more files');
return log.lines;
