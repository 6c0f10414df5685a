// style: for of changes variable
let line = 0;
for (line of ['a', 'b']) ;
return line.toUpperCase();
