// style: tool pairs
const jobs = [[tools.getWeather, { city: 'Oslo' }], [tools.calculate, { expression: '1 + 2' }]];
const rs = await Promise.all(jobs.map(([t, a]) => t(a))); return rs.map((r) => r.celsius ?? r.result);
