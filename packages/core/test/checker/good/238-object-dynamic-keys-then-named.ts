// style: object dynamic keys then named
const totals = { count: 0 };
for (const line of ['north 3', 'south 4']) {
  const [region, amount] = line.split(' ');
  totals[region] = Number(amount);
  totals.count++;
}
return totals.north + totals.south;
