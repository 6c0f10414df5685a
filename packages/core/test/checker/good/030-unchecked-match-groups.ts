// style: terse
const { content } = await tools.readFile({ filePath: 'logs/app.log' });
const ms = content.match(/slow query (\d+)ms/)[1];
const { level, rest } = content.split('\n')[2].match(/Z (?<level>\w+) (?<rest>.*)$/).groups;
return { ms: Number(ms), level, rest };
