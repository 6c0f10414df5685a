// style: generic value length
function describe<T>(value: T) { return Array.isArray(value) ? value.length : value.name; }
return [describe([1]), describe({ name: 'x' })];
