// style: array push string number
const xs = [1, 2]; xs.push('a'); return xs[2].toUpperCase();
