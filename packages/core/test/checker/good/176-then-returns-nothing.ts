// style: then chains
const log = [];
await tools
  .now()
  .then((t) => {
    log.push(t.iso.slice(11, 16));
  })
  .then(() => tools.unstable({ key: 'then' }))
  .catch((e) => log.push(e.message))
  .then(() => tools.unstable({ key: 'then' }))
  .then((v) => log.push(v.value));
return log;
