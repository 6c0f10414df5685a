// style: functional
const languages = ['de', 'fr', 'es'] as const;
const greetings = ['Hello', 'Bye'];
const table = await Promise.all(
  greetings.map(async (g) => [g, ...(await Promise.all(languages.map((to) => tools.translate({ text: g, to })))).map((t) => t.text)]),
);
return table.map((row) => row.join(' | '));
