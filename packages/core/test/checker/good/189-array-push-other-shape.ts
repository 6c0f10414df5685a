// style: array push other shape
const out = [{ id: 1 }]; out.push({ id: 2, note: 'n' }); return out[1].note;
