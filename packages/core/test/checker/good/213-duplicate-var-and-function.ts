// style: duplicate var and function
function helper() { return 1; }
var helper = function () { return 2; };
return helper();
