// line: 3
// about: ctx
const root = ctx.workingDirectory;
const { entries } = await tools.listDir({ path: root });
return entries.length;
