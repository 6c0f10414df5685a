// style: chatty with comments
// 1. Get the weather for every office.
const offices = { north: 'Oslo', south: 'Lima', east: 'Cairo' };
const lines = await Promise.all(
  Object.entries(offices).map(async ([office, city]) => {
    const w = await tools.getWeather({ city, units: 'metric' });
    // `alerts` is only there when something is going on
    const warning = w.alerts ? ` (!! ${w.alerts.join(', ')})` : '';
    return `${office}: ${w.celsius} °C, ${w.condition}${warning}`;
  }),
);

// 2. Send one mail to all active members.
const members = await tools.listUsers({ active: true });
const mail = await tools.sendEmail({
  to: members.map((m) => m.email),
  subject: `Weather for ${Object.keys(offices).length} offices`,
  body: lines.join('\n'),
  priority: 'low',
});

// 3. Done!
return { message: `sent ${mail.messageId} to ${mail.accepted.length} people`, lines };
