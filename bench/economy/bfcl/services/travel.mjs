import { pairKey } from './pair-key.mjs';
import { flag, list, number, object, text, whole } from './schemas.mjs';

const NONE = { default: 'None' };
const TOKEN = text('The token that logging in has given.');
const CURRENCIES = 'USD, RMB, EUR, JPY, GBP, CAD, AUD, INR, RUB, BRL, MXN';
/** The value of one unit of each currency, in US dollars. */
const WORTH = { USD: 1, RMB: 1 / 7, EUR: 1.25, GBP: 1 / 0.7 };
const AIRPORTS = {
  Rivermist: 'RMS',
  Stonebrook: 'SBK',
  Maplecrest: 'MPC',
  Silverpine: 'SVP',
  Shadowridge: 'SHD',
  London: 'LHR',
  Paris: 'CDG',
  'Sunset Valley': 'SSV',
  Oakendale: 'OKD',
  Willowbend: 'WLB',
  'Crescent Hollow': 'CRH',
  Autumnville: 'AUV',
  Pinehaven: 'PHV',
  Greenfield: 'GFD',
  'San Francisco': 'SFO',
  'Los Angeles': 'LAX',
  'New York': 'JFK',
  Chicago: 'ORD',
  Boston: 'BOS',
  Beijing: 'PEK',
  'Hong Kong': 'HKG',
  Rome: 'CIA',
  Tokyo: 'HND',
};
/**
 * Fares in the cheapest class, between two airports in alphabetical order; all other fares have the most common price.
 */
const FARES = { 'LAX-SFO': 200, 'CIA-SFO': 1_400, 'JFK-LAX': 1_200, 'JFK-RMS': 420, 'JFK-PEK': 260, 'LAX-ORD': 180 };
const MAX_FARES = 350;
const CLASSES = { economy: 1, business: 2, first: 5 };
const FLIGHT = {
  travel_date: text('Date of the flight.'),
  travel_from: text('Where the flight begins.'),
  travel_to: text('Where the flight goes.'),
  travel_class: text('Class of the flight.'),
  travel_cost: number('What the flight costs.'),
};
const BOOKING_ID = text('Id of the booking.');
const TRANSACTION_ID = text('Id of the payment.');

/** @type {import('./schemas.mjs').Service} */
export const travel = {
  about:
    'One of the tools of a travel agency, by which a user books flights, takes care of credit cards, and looks at budgets. What this tool does:',
  open: ({ balance = 15_000, bookings = [] } = {}) => ({
    balance,
    nextCard: '262919693687',
    nextBooking: '3426812',
    bookings: Object.fromEntries(
      bookings.map((id) => [
        id,
        bookingOf({ travel_from: 'SFO', travel_to: 'LAX', travel_class: 'economy', travel_date: '2024-12-24' }),
      ]),
    ),
  }),
  tools: [
    {
      name: 'authenticate_travel',
      does: 'Logs the user in to the travel agency',
      takes: {
        client_id: text('The id of the application, as those who run it have given it out'),
        client_secret: text('The secret of the application, as those who run it have given it out'),
        refresh_token: text('The token for renewal that the first log-in has given'),
        grant_type: text('What the log-in allows. One of: read_write, read, write'),
        user_first_name: text('First name of the user'),
        user_last_name: text('Last name of the user'),
      },
      gives: {
        expires_in: whole('How long the token can be used'),
        access_token: text('The token that later calls are made with'),
        token_type: text('Kind of the token'),
        scope: text('What the token allows'),
      },
      as: 'login',
      changes: true,
      run: (state) => {
        // The data set takes all ids from one sequence of numbers, and a log-in consumes one of them.
        Object.assign(state, { nextCard: '391310425148', nextBooking: '5431449' });
        return { expires_in: 2, access_token: '251675', token_type: 'Bearer', scope: 'read_write' };
      },
    },
    {
      name: 'book_flight',
      does: 'Books a flight. Where it begins and where it goes are codes of airports, as IATA gives them.',
      takes: {
        access_token: TOKEN,
        card_id: text('Id of the credit card that pays for the booking'),
        travel_date: text('Date of the flight, as YYYY-MM-DD'),
        travel_from: FLIGHT.travel_from,
        travel_to: FLIGHT.travel_to,
        travel_class: FLIGHT.travel_class,
      },
      gives: {
        booking_id: BOOKING_ID,
        transaction_id: TRANSACTION_ID,
        booking_status: flag('True where the flight is booked, false where that failed'),
        booking_history: object(
          { booking_id: BOOKING_ID, transaction_id: TRANSACTION_ID, ...FLIGHT },
          {
            description: 'The bookings so far. It may be empty although there are some.',
            optional: ['booking_id', 'transaction_id', ...Object.keys(FLIGHT)],
          },
        ),
      },
      as: 'booking',
      changes: true,
      run: (state, flight) => {
        const booking_id = state.nextBooking;
        state.bookings[booking_id] = bookingOf(flight);
        return { booking_id, transaction_id: '45451592', booking_status: true, booking_history: {} };
      },
    },
    {
      name: 'cancel_booking',
      does: 'Cancels a booking',
      takes: { access_token: TOKEN, booking_id: BOOKING_ID },
      gives: { cancel_status: flag('True where the booking is cancelled, false where that failed') },
      run: (state, { booking_id }) => {
        knownBooking(state, booking_id);
        delete state.bookings[booking_id];
        return { cancel_status: true };
      },
    },
    {
      name: 'compute_exchange_rate',
      does: 'Converts a value from one currency into another',
      takes: {
        base_currency: text(`The currency that it has. One of ${CURRENCIES}`),
        target_currency: text(`The currency that it gets. One of ${CURRENCIES}`),
        value: number('The value to convert'),
      },
      gives: { exchanged_value: number('The value in its new currency') },
      as: 'exchange',
      run: (_, { base_currency, target_currency, value }) => ({
        exchanged_value: (value * WORTH[base_currency]) / WORTH[target_currency],
      }),
    },
    {
      name: 'contact_customer_support',
      does: 'Brings a matter of a booking to the support of the travel agency, which answers at once.',
      takes: { booking_id: BOOKING_ID, message: text('What the support is told') },
      gives: { customer_support_message: text('What the support answers') },
      as: 'support',
      changes: true,
      run: (state, { booking_id }) => {
        knownBooking(state, booking_id);
        return {
          customer_support_message:
            'Thank you for contacting customer support. We will look into it and get back to you soon.',
        };
      },
    },
    {
      name: 'get_all_credit_cards',
      does: 'Lists all credit cards that are registered',
      takes: {},
      gives: {
        credit_card_list: object(
          {
            card_number: text('Number of the card'),
            expiration_date: text('Date up to which the card is valid, as YYYY-MM-DD'),
            cardholder_name: text('Name on the card'),
            card_verification_value: whole('The code on the back of the card'),
            balance: number('Balance of the card'),
          },
          { description: 'The cards that are registered, by their ids' },
        ),
      },
      as: 'cards',
      run: () => ({ credit_card_list: {} }),
    },
    {
      name: 'get_booking_history',
      does: 'Lists all bookings of the user so far.',
      takes: { access_token: TOKEN },
      gives: {
        booking_history: object(
          { transaction_id: TRANSACTION_ID, ...FLIGHT },
          { description: 'The bookings by their ids, each with what is known of it.' },
        ),
      },
      as: 'bookings',
      run: (state) => ({ booking_history: state.bookings }),
    },
    {
      name: 'get_budget_fiscal_year',
      does: 'Gives the fiscal year of the budget',
      takes: {
        lastModifiedAfter: text(
          'Gives only the fiscal years that were changed after this date, which is read as UTC. Without it the service gives all fiscal years, whenever they were changed. For example 2016-03-29T16:12:20, as YYYY-MM-DDTHH:MM:SS.',
          NONE,
        ),
        includeRemoved: text(
          'Where it is true, the service gives all fiscal years, those that were removed before too. It is false where it is left out.',
          NONE,
        ),
      },
      gives: { budget_fiscal_year: text('The fiscal year of the budget') },
      as: 'year',
      run: () => ({ budget_fiscal_year: '2018' }),
    },
    {
      name: 'get_credit_card_balance',
      does: 'Gives the balance of a credit card',
      takes: { access_token: TOKEN, card_id: text('Id of the credit card') },
      gives: { card_balance: number('Balance of the credit card') },
      as: 'card',
      run: ({ balance }) => ({ card_balance: balance }),
    },
    {
      name: 'get_flight_cost',
      does: 'Lists what a flight costs in US dollars, for two places, a date and a class',
      takes: {
        travel_from: text('The airport where the flight begins, as 3 letters'),
        travel_to: text('The airport where the flight goes, as 3 letters'),
        travel_date: text("Date of the flight, as 'YYYY-MM-DD'"),
        travel_class: text('Class of the flight. One of: economy, business, first.'),
      },
      gives: { travel_cost_list: list('number', 'What the flight costs') },
      as: 'cost',
      run: (_, flight) => ({ travel_cost_list: [fareOf(flight)] }),
    },
    {
      name: 'get_nearest_airport_by_city',
      does: 'Gives the airport that is nearest to a place',
      takes: { location: text(`Name of the place. One of ${Object.keys(AIRPORTS).join(', ')}`) },
      gives: { nearest_airport: text('The airport that is nearest to the place') },
      as: 'airport',
      run: (_, { location }) => ({ nearest_airport: AIRPORTS[location] }),
    },
    {
      name: 'list_all_airports',
      does: 'Lists all airports that there are',
      takes: {},
      gives: { airports: list('string', 'All airports that there are') },
      as: 'all',
      run: () => ({ airports: ['RMS', 'SBK', ...airportsBetween(), 'BOS'] }),
    },
    {
      name: 'purchase_insurance',
      does: 'Buys an insurance',
      takes: {
        access_token: TOKEN,
        insurance_type: text('Kind of the insurance to buy'),
        insurance_cost: number('What the insurance costs'),
        booking_id: BOOKING_ID,
        card_id: text('Id of the credit card that pays for it'),
      },
      gives: {
        insurance_id: text('Id of the insurance'),
        insurance_status: flag('True where the insurance is bought, false where that failed'),
      },
      as: 'insurance',
      changes: true,
      run: (state, { booking_id }) => {
        knownBooking(state, booking_id);
        return { insurance_id: '498276044', insurance_status: true };
      },
    },
    {
      name: 'register_credit_card',
      does: 'Registers a credit card',
      takes: {
        access_token: TOKEN,
        card_number: text('Number of the credit card'),
        expiration_date: text('Month up to which the card is valid, as MM/YYYY'),
        cardholder_name: text('Name on the card'),
        card_verification_number: whole('The code on the back of the card'),
      },
      gives: { card_id: text('Id of the card that was registered') },
      as: 'card',
      changes: true,
      run: ({ nextCard }) => ({ card_id: nextCard }),
    },
    {
      name: 'retrieve_invoice',
      does: 'Gives the invoice for a booking.',
      takes: {
        access_token: TOKEN,
        booking_id: text('Id of the booking', NONE),
        insurance_id: text('Id of the insurance', NONE),
      },
      gives: {
        invoice: object(
          { booking_id: BOOKING_ID, ...FLIGHT, transaction_id: TRANSACTION_ID },
          { description: 'The invoice for the booking' },
        ),
      },
      as: 'invoice',
      run: (state, { booking_id }) => ({ invoice: { booking_id, ...knownBooking(state, booking_id) } }),
    },
    {
      name: 'set_budget_limit',
      does: 'Sets how much the user may spend',
      takes: {
        access_token: text('The token that logging in has given, or that was there from the beginning.'),
        budget_limit: number('How much may be spent, in US dollars'),
      },
      gives: { budget_limit: number('How much may be spent from now on, in US dollars') },
      run: (_, { budget_limit }) => ({ budget_limit }),
    },
    {
      name: 'travel_get_login_status',
      does: 'Tells whether the user is logged in',
      takes: {},
      gives: { status: flag('Whether the user is logged in') },
      as: 'login',
      run: () => ({ status: true }),
    },
    {
      name: 'verify_traveler_information',
      does: 'Checks what is known of the traveler',
      takes: {
        first_name: text('First name of the traveler'),
        last_name: text('Last name of the traveler'),
        date_of_birth: text('When the traveler was born, as YYYY-MM-DD'),
        passport_number: text('Number of the passport of the traveler'),
      },
      gives: {
        verification_status: flag('True where all of it is right, false where that failed'),
        verification_failure: text('Why it failed'),
      },
      mayLack: ['verification_failure'],
      as: 'verified',
      run: () => ({ verification_status: true }),
    },
  ],
};

/** The airports in the order of the data set: tasks request the first, the second and the last one. */
function airportsBetween() {
  return Object.values(AIRPORTS).filter((code) => !['RMS', 'SBK', 'BOS'].includes(code));
}

function fareOf({ travel_from, travel_to, travel_class }) {
  return (FARES[pairKey(travel_from, travel_to)] ?? MAX_FARES) * CLASSES[travel_class];
}

function bookingOf({ travel_date, travel_from, travel_to, travel_class }) {
  const travel_cost = fareOf({ travel_from, travel_to, travel_class });
  return { travel_date, travel_from, travel_to, travel_class, travel_cost, transaction_id: '45451592' };
}

function knownBooking({ bookings }, id) {
  if (bookings[id] === undefined) throw new Error(`There is no booking ${id}.`);
  return bookings[id];
}
