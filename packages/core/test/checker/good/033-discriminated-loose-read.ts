// style: plain JavaScript, reads members of either case
const out = [];
for (const amount of [100, 900]) {
  const charge = await tools.payments.charge({ amount, card: '4242424242424242' });
  out.push(charge.chargeId || charge.message || 'nothing');
}
return out;
