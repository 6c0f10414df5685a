// style: let empty string any
let result = '';
result = await tools.kv.get({ key: 'settings' });
return result.theme;
