// style: proxy callable method missing
const api = new Proxy({ base: '/v1' }, { get(t, k) { return k in t ? t[k] : (a) => `${t.base}/${String(k)}/${a}`; } }); return api.users(5);
