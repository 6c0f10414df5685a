// style: chatty with comments
/**
 * Renders rows as a Markdown table.
 * @param {Array<Object>} rows
 * @param {string[]} columns
 * @returns {string}
 */
function table(rows, columns) {
  const head = `| ${columns.join(' | ')} |`;
  const rule = `|${columns.map(() => '---').join('|')}|`;
  const body = rows.map((row) => `| ${columns.map((c) => row[c] ?? '').join(' | ')} |`);
  return [head, rule, ...body].join('\n');
}

// Only what the user asked for: open deals with their contact's name.
const { deals } = await tools.crm.deals.list({ stage: 'open' });
const rows = await Promise.all(
  deals.map(async (deal) => ({
    ...deal,
    contact: (await tools.crm.contacts.get({ id: deal.contactId })).name,
  })),
);
const markdown = table(rows, ['id', 'contact', 'amount', 'closeDate']);
text(markdown);
return { rows: rows.length, width: markdown.indexOf('\n') };
