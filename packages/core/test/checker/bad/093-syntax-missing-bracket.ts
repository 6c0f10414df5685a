// line: 3
// about: )
const totals = [1, 2, 3].map((n) => n * 2;
return totals;
