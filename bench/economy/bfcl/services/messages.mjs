import { flag, list, object, rows, text, whole } from './schemas.mjs';

const USERS = { Alice: 'USR001', Bob: 'USR002', Catherine: 'USR003', Daniel: 'USR004' };

/** @type {import('./schemas.mjs').Service} */
export const messages = {
  about:
    'One of the tools of a message service, by which the people of a workplace write to each other. What this tool does:',
  open: () => ({ users: { ...USERS }, sent: [], nextId: 67_410 }),
  tools: [
    {
      name: 'add_contact',
      does: 'Adds a person to the workplace.',
      takes: { user_name: text('Name of the person to add.') },
      gives: {
        added_status: flag('True where the person was added.'),
        user_id: text('Id that the person has from now on.'),
        message: text('How it went, as a sentence.'),
      },
      as: 'contact',
      changes: true,
      run: (state, { user_name }) => {
        const user_id = `USR${String(Object.keys(state.users).length + 1).padStart(3, '0')}`;
        state.users[user_name] = user_id;
        return { added_status: true, user_id, message: `Contact '${user_name}' added successfully.` };
      },
    },
    {
      name: 'delete_message',
      does: 'Deletes the last message that was sent to a person.',
      takes: { receiver_id: text('Id of the person who got the message.') },
      gives: {
        deleted_status: flag('True where the message was deleted.'),
        receiver_id: text('Id of the person who got the deleted message.'),
        message: text('How it went, as a sentence.'),
      },
      run: (state, { receiver_id }) => {
        const index = state.sent.findLastIndex((one) => one.receiver_id === receiver_id);
        if (index < 0) throw new Error(`No message was sent to ${receiver_id}.`);
        state.sent.splice(index, 1);
        return {
          deleted_status: true,
          receiver_id,
          message: `Receiver ID ${receiver_id}: the latest message was deleted.`,
        };
      },
    },
    {
      name: 'get_message_stats',
      does: 'Gives figures about the messages of the current user.',
      takes: {},
      gives: {
        stats: object(
          {
            received_count: whole('How many messages the current user got.'),
            total_contacts: whole('With how many people the user exchanged messages.'),
          },
          { description: 'The figures by their names.' },
        ),
      },
      as: 'stats',
      run: (state) => ({ stats: { received_count: 0, total_contacts: Object.keys(sentByReceiver(state)).length } }),
    },
    {
      name: 'get_user_id',
      does: 'Gives the id of a person by name.',
      takes: { user: text('Name of the person.') },
      gives: { user_id: text('Id of the person.') },
      as: 'user',
      isPassedOn: true,
      run: (state, { user }) => ({ user_id: state.users[user] }),
    },
    {
      name: 'list_users',
      does: 'Lists all people of the workplace.',
      takes: {},
      gives: { user_list: list('string', 'The people of the workplace.') },
      as: 'users',
      run: (state) => ({ user_list: Object.keys(state.users) }),
    },
    {
      name: 'message_get_login_status',
      does: 'Tells whether a user is logged in.',
      takes: {},
      gives: { login_status: flag('True where a user is logged in.') },
      as: 'login',
      run: () => ({ login_status: true }),
    },
    {
      name: 'message_login',
      does: 'Logs a user in to the message service, by the id that is given.',
      takes: { user_id: text('Id of the user to log in.') },
      gives: {
        login_status: flag('True where the user is logged in now.'),
        message: text('How it went, as a sentence.'),
      },
      run: (_, { user_id }) => ({ login_status: true, message: `User '${user_id}' logged in successfully.` }),
    },
    {
      name: 'search_messages',
      does: 'Finds the messages that contain a word.',
      takes: { keyword: text('The word to look for in messages.') },
      gives: {
        results: rows(
          { receiver_id: text('Id of the person who got the message.'), message: text('The message with the word.') },
          'The messages that have it.',
        ),
      },
      as: 'found',
      run: (state, { keyword }) => ({ results: state.sent.filter(({ message }) => message.includes(keyword)) }),
    },
    {
      name: 'send_message',
      does: 'Sends a message to a person.',
      takes: { receiver_id: text('Id of the person who gets the message.'), message: text('The message to send.') },
      gives: {
        sent_status: flag('True where the message was sent.'),
        message_id: whole('Id of the message that was sent.'),
        message: text('How it went, as a sentence.'),
      },
      run: (state, { receiver_id, message }) => {
        state.sent.push({ receiver_id, message });
        const sent = `Message sent to '${receiver_id}' successfully.`;
        return { sent_status: true, message_id: state.nextId++, message: sent };
      },
    },
    {
      name: 'view_messages_sent',
      does: 'Shows all messages that the current user has sent so far.',
      takes: {},
      gives: {
        messages: {
          type: 'object',
          description: 'The messages by who got them, for example {"USR001":["Hello"],"USR002":["World"]}.',
        },
      },
      as: 'sent',
      run: (state) => ({ messages: sentByReceiver(state) }),
    },
  ],
};

function sentByReceiver({ sent }) {
  const messages = {};
  for (const { receiver_id, message } of sent) (messages[receiver_id] ??= []).push(message);
  return messages;
}
