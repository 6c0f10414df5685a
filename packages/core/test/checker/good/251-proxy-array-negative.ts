// style: proxy array negative
const a = new Proxy([1, 2, 3], { get: (t, k) => (k === 'last' ? t[t.length - 1] : t[k]) }); return a.last;
