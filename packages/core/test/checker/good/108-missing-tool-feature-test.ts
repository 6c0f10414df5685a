// style: defensive
let how = 'none';
if (tools.spawn) how = 'spawn';
else if (typeof tools.http === 'function') how = 'http';
else if (tools.mcp?.github) how = 'mcp';
else if ('github' in tools) how = 'github';
const { totalCount } = await tools.github.listIssues({ repo: 'acme/app', state: 'all' });
return { how, totalCount };
