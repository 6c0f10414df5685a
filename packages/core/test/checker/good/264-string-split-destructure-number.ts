// style: string split destructure number
const [h, m] = '10:30'.split(':').map(Number); const parts = '1-2'.split('-'); parts.forEach((p, i) => { parts[i] = Number(p); }); return [h + m, parts[0].toFixed(1)];
