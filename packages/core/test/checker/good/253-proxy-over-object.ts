// style: proxy over object
const defaults = new Proxy({ retries: 3 }, { get: (t, k) => (k in t ? t[k] : 'n/a') });
return [defaults.retries, defaults.timeout];
