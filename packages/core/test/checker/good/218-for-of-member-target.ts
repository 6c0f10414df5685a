// style: for of member target
const box = { seen: 0 };
for (box.current of [1, 2, 3]) box.seen++;
return box.current;
