// style: functional
const user = await tools.get_user({ id: 2 });
const template = 'Dear {{ name }}, your manager is {{manager.name}} and your theme is {{settings.theme}}.';
const filled = template.replace(/{{\s*([\w.]+)\s*}}/g, (_, path) => path.split('.').reduce((o, k) => o?.[k], user) ?? 'unset');
return filled;
