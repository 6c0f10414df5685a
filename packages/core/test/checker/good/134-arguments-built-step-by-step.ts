// style: plain JavaScript
const args = { to: ['ada@acme.example', 'nobody'], subject: 'Weekly' };
args.body = 'See below.';
if (args.to.length > 1) args.cc = ['boss@acme.example'];
const sent = await tools.sendEmail(args);
return { accepted: sent.accepted, rejected: sent.rejected };
