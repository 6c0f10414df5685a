// line: 3
// about: window
const base = window.location.href;
return new URL('/items', base).href;
