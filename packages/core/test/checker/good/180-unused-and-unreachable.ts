// style: careless but right
const unused = await tools.now();
let neverRead = 1;
function helper() {
  return 1;
  console.log('never');
}
const { keys } = await tools.kv.list({});
return keys.length + helper();
return 'never';
