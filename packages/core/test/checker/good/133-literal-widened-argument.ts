// style: plain JavaScript, arguments built before the call
const options = { repo: 'acme/app', state: 'closed' };
options.state = 'all';
const { totalCount } = await tools.github.listIssues(options);
const units = ['metric', 'imperial'];
const reports = [];
for (const u of units) reports.push((await tools.getWeather({ city: 'Lima', units: u })).celsius);
let priority = 'high';
const mail = await tools.sendEmail({ to: ['a@b.example'], subject: 's', body: 'b', priority });
return { totalCount, reports, mail: mail.messageId };
