// line: 7
// about: receiptUrl
async function pay(amount: number, card: string): Promise<string> {
  const charge = await tools.payments.charge({ amount, card });
  switch (charge.status) {
    case 'succeeded':
      return `paid ${charge.amount}: ${charge.receiptUrl}`;
    case 'declined':
      return `declined (${charge.code}): ${charge.message}`;
  }
}

const answers: string[] = [];
for (const amount of [10, 1000]) answers.push(await pay(amount, '4242424242424242'));
return answers;
