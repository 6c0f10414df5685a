// line: 3,4
// about: items
function merge(items, more) {
  let items = [...items, ...more];
  return items;
}
return merge([1], [2]);
