// style: default parameter json
function load(src = '') { src = JSON.parse(src); return src.a; } return load('{"a":1}');
