// style: let string then parsed
let cfg = (await tools.readFile({ filePath: 'config/app.json' })).content; cfg = JSON.parse(cfg); return cfg.features.limits.perUser;
