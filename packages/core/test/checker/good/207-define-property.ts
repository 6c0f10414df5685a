// style: define property
const box = { w: 2, h: 3 };
Object.defineProperty(box, 'area', { get() { return this.w * this.h; } });
return box.area;
