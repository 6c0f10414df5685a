// style: typed
const charge = await tools.payments.charge({ amount: 20, currency: 'USD', card: '4000' });
let message: string;
switch (charge.status) {
  case 'succeeded':
    message = `charged ${charge.amount}`;
    break;
  case 'declined':
    message = `declined: ${charge.message}`;
    break;
}
return message;
