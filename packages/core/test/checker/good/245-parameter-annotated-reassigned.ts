// style: parameter annotated reassigned
function norm(x: string) { x = x.split(',') as any; return x.map((s) => s.trim()); } return norm('a, b');
