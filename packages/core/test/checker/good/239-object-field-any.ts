// style: object field any
const st = { body: '' }; st.body = await tools.reports.legacy({ name: 'x' }); st.body = JSON.parse(st.body); return st.body.sections.length;
