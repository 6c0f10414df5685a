// style: generic extends object
function names<T extends object>(xs: T[]) { return xs.map((x) => x.name); }
return names(await tools.listUsers({}));
