import { flag, object, text, whole } from './schemas.mjs';

const TICKET = {
  id: whole('Id of the ticket.'),
  title: text('Title of the ticket.'),
  description: text('What the ticket is about.'),
  status: text('State that the ticket is in.'),
  priority: whole('Priority of the ticket.'),
};
const OWNED = { ...TICKET, created_by: text('Name of the user who made it.') };

/** @type {import('./schemas.mjs').Service} */
export const tickets = {
  about:
    'One of the tools of the ticket system of a company, with which its people open tickets for support, look at them, change them and bring them to an end. What this tool does:',
  open: ({ next = 1, open = [] } = {}) => ({
    next,
    tickets: open.map((ticket) => ({
      title: '',
      description: '',
      status: 'Open',
      priority: 3,
      created_by: 'John',
      ...ticket,
    })),
  }),
  tools: [
    {
      name: 'close_ticket',
      does: 'Closes a ticket.',
      takes: { ticket_id: whole('Id of the ticket to close.') },
      gives: { status: text('How it went, as a sentence.') },
      run: (state, { ticket_id }) => {
        ticketOf(state, ticket_id).status = 'Closed';
        return { status: `Ticket ${ticket_id} has been closed successfully.` };
      },
    },
    {
      name: 'create_ticket',
      does: 'Opens a ticket and puts it into the queue.',
      takes: {
        title: text('Title of the ticket.'),
        description: text('What the ticket is about. Empty by default.', { default: '' }),
        priority: whole('Priority of the ticket, 1 to 5. 1 by default; 5 is the highest.', { default: 1 }),
      },
      gives: TICKET,
      as: 'ticket',
      changes: true,
      run: (state, { title, description, priority }) => {
        const ticket = { id: state.next++, title, description, status: 'Open', priority };
        state.tickets.push({ ...ticket, created_by: 'John' });
        return ticket;
      },
    },
    {
      name: 'edit_ticket',
      does: 'Changes what an existing ticket says.',
      takes: {
        ticket_id: whole('Id of the ticket to change.'),
        updates: object(
          {
            description: text('What the ticket is about from now on.'),
            status: text('State that the ticket is in from now on.'),
            priority: whole('Priority of the ticket from now on.'),
          },
          {
            optional: ['description', 'status', 'priority'],
            description: 'The members to change, each with its new value. A title may be among them too.',
          },
        ),
      },
      gives: { status: text('How it went, as a sentence.') },
      run: (state, { ticket_id, updates }) => {
        Object.assign(ticketOf(state, ticket_id), updates);
        return { status: `Ticket ${ticket_id} has been updated successfully.` };
      },
    },
    {
      name: 'get_ticket',
      does: 'Gives one ticket by its id.',
      takes: { ticket_id: whole('Id of the ticket to give.') },
      gives: OWNED,
      as: 'ticket',
      run: (state, { ticket_id }) => ticketOf(state, ticket_id),
    },
    {
      name: 'get_user_tickets',
      does: 'Gives the tickets of the current user, all of them or those in one state.',
      takes: { status: text('State of the tickets to give. None gives all of them.', { default: 'None' }) },
      gives: OWNED,
      as: 'ticket',
      run: (state) => state.tickets[0],
    },
    {
      name: 'logout',
      does: 'Logs the current user out.',
      takes: {},
      gives: { success: flag('True where the user is logged out now.') },
      run: () => ({ success: true }),
    },
    {
      name: 'resolve_ticket',
      does: 'Resolves a ticket, and says how.',
      takes: { ticket_id: whole('Id of the ticket to resolve.'), resolution: text('How the matter was resolved.') },
      gives: { status: text('How it went, as a sentence.') },
      run: (state, { ticket_id, resolution }) => {
        Object.assign(ticketOf(state, ticket_id), { status: 'Resolved', resolution });
        return { status: `Ticket ${ticket_id} has been resolved successfully.` };
      },
    },
    {
      name: 'ticket_get_login_status',
      does: 'Tells whether a user is logged in to the ticket system.',
      takes: {},
      gives: { login_status: flag('True where a user is logged in.') },
      as: 'login',
      run: () => ({ login_status: true }),
    },
    {
      name: 'ticket_login',
      does: 'Logs a user in to the ticket system.',
      takes: { username: text('Name of the user.'), password: text('Password of the user.') },
      gives: { success: flag('True where the user is logged in now.') },
      run: () => ({ success: true }),
    },
  ],
};

function ticketOf({ tickets: known }, id) {
  const ticket = known.find((one) => one.id === id);
  if (ticket === undefined) throw new Error(`There is no ticket ${id}.`);
  return ticket;
}
