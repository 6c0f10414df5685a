// style: old-style JavaScript
for (var i = 0, n = 0; i < 3; i++) n += i;
for (var i = 0; i < 2; i++) n += i;
var result = await tools.calculate({ expression: '2 * 3' });
var value = result.result;
var value = value + n;
return value;
