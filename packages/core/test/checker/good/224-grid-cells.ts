// style: grid cells
const grid = [...Array(3)].map(() => [...Array(3)].map(() => 0));
grid[1][1] = 'x';
return grid[1][1].toUpperCase();
