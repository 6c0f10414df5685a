// style: bitflag enum object
const E = { NONE: 0 }; ['READ', 'WRITE'].forEach((k, i) => (E[k] = 1 << i)); return E.READ | E.WRITE;
