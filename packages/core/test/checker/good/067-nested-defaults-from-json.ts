// style: JSON shuffling
const { content } = await tools.readFile({ filePath: 'config/app.json' });
const { port = 80, features: { beta = false, limits: { perUser = 1, perTeam = 10 } = {} } = {}, hosts: [primary, ...others] = [] } = JSON.parse(content);
return { port, beta, perUser, perTeam, primary, others };
