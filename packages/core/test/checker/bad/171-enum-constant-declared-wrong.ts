// line: 13
// about: critical
enum Priority {
  Low = 'low',
  Critical = 'critical',
}

const mail = {
  to: ['ops@acme.example'],
  subject: 'Disk is full',
};

const { messageId } = await tools.sendEmail({ ...mail, body: 'Please look.', priority: 'critical' });
return { messageId, level: Priority.Critical };
