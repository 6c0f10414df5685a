// line: 3
// about: process
const token = process.env.API_TOKEN ?? 'none';
const page = await tools.fetchPage({ url: `https://api.example/items?token=${token}` });
return page.status;
