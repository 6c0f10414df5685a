// style: plain JavaScript
const charge = await tools.payments.charge({ amount: 900, card: '4242424242424242' });
if (charge.status === 'succeeded') return { id: charge.chargeId };
return { declined: true, code: charge.code, note: charge.message };
