// style: then chains
return tools.crm.deals
  .list({ stage: 'won' })
  .then(({ deals }) =>
    Promise.all(
      deals.map((deal) =>
        tools.crm.contacts.get({ id: deal.contactId }).then((contact) => ({ deal: deal.id, contact: contact.name })),
      ),
    ),
  )
  .then((rows) => rows.map((row) => `${row.deal} by ${row.contact}`));
