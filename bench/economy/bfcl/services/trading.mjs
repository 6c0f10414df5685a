import { flag, list, number, rows, text, whole } from './schemas.mjs';

const NONE = { default: 'None' };
const symbol = (what) => text(`Symbol of the stock ${what}.`);
/** Price, change in percent, volume, and the means of five and of twenty days. */
const STOCKS = {
  AAPL: [227.16, 0.17, 2.552, 227.11, 227.09],
  GOOG: [2840.34, 0.24, 1.123, 2835.67, 2842.15],
  TSLA: [667.92, -0.12, 1.654, 671.15, 668.2],
  MSFT: [310.23, 0.09, 3.234, 309.88, 310.11],
  NVDA: [220.34, 0.34, 1.234, 220.45, 220.67],
  ALPH: [1320.45, -0.08, 1.567, 1321.12, 1325.78],
  OMEG: [457.23, 0.12, 2.345, 456.78, 458.12],
  QUAS: [725.89, -0.03, 1.789, 726.45, 728],
  NEPT: [88.34, 0.19, 0.654, 88.21, 88.67],
  SYNX: [345.67, 0.11, 2.112, 345.34, 346.12],
};
const ORDER_STATES = 'One of "Open", "Pending", "Completed", "Cancelled".';

/** @type {import('./schemas.mjs').Service} */
export const trading = {
  about:
    'One of the tools of a trading system, with which a user buys and sells stocks, looks stocks up, and takes care of the account. What this tool does:',
  open: ({ stocks = {}, watchlist = ['NVDA'] } = {}) => ({
    prices: stocks,
    watchlist: [...watchlist],
    balance: 10_000,
    nextOrder: 12_446,
    orders: {
      12345: { id: 12_345, order_type: 'Buy', symbol: 'AAPL', price: 210.65, amount: 10, status: 'Completed' },
      12446: { id: 12_446, order_type: 'Buy', symbol: 'GOOG', price: 2840.34, amount: 5, status: 'Pending' },
    },
  }),
  tools: [
    {
      name: 'add_to_watchlist',
      does: 'Puts a stock on the watchlist.',
      takes: { stock: symbol('to put on the watchlist') },
      gives: { watchlist: list('string', 'The watchlist.') },
      run: (state, { stock }) => {
        if (!state.watchlist.includes(stock)) state.watchlist.push(stock);
        return { watchlist: [...state.watchlist] };
      },
    },
    {
      name: 'cancel_order',
      does: 'Cancels an order.',
      takes: { order_id: whole('Id of the order to cancel.') },
      gives: {
        order_id: whole('Id of the order that was cancelled.'),
        status: text('State that the order is in, now that its cancellation was tried.'),
      },
      run: (state, { order_id }) => {
        orderOf(state, order_id).status = 'Cancelled';
        return { order_id, status: 'Cancelled' };
      },
    },
    {
      name: 'filter_stocks_by_price',
      does: 'Picks the stocks whose price lies in a range.',
      takes: {
        stocks: list('string', 'Symbols of the stocks to pick from.'),
        min_price: number('The lowest price.'),
        max_price: number('The highest price.'),
      },
      gives: { filtered_stocks: list('string', 'Symbols of the stocks whose price lies in the range.') },
      as: 'picked',
      run: (state, { stocks, min_price, max_price }) => ({
        filtered_stocks: stocks.filter((one) => priceOf(state, one) >= min_price && priceOf(state, one) <= max_price),
      }),
    },
    {
      name: 'fund_account',
      does: 'Pays an amount into the account.',
      takes: { amount: number('The amount to pay in.') },
      gives: {
        status: text('How the payment went.'),
        new_balance: number('Balance of the account, now that it was paid in.'),
      },
      run: (state, { amount }) => {
        state.balance += amount;
        return { status: 'Account funded successfully', new_balance: state.balance };
      },
    },
    {
      name: 'get_account_info',
      does: 'Tells about the account.',
      takes: {},
      gives: {
        account_id: whole('Id of the account.'),
        balance: number('Balance of the account.'),
        binding_card: whole('Number of the card that belongs to the account.'),
      },
      as: 'account',
      run: (state) => ({ account_id: 12_345, balance: state.balance, binding_card: 1_974_202_140_965_533 }),
    },
    {
      name: 'get_available_stocks',
      does: 'Lists the symbols of the stocks of a sector.',
      takes: { sector: text("The sector whose stocks are listed, such as 'Technology'.") },
      gives: { stock_list: list('string', 'Symbols of the stocks of the sector.') },
      as: 'stocks',
      run: () => ({ stock_list: ['AAPL', 'GOOG', 'MSFT', 'NVDA'] }),
    },
    {
      name: 'get_current_time',
      does: 'Tells the time.',
      takes: {},
      gives: { current_time: text('The time, in the form HH:MM AM/PM.') },
      as: 'time',
      run: () => ({ current_time: '10:30 AM' }),
    },
    {
      name: 'get_order_details',
      does: 'Tells about an order.',
      takes: { order_id: whole('Id of the order.') },
      gives: {
        id: whole('Id of the order.'),
        order_type: text('Kind of the order.'),
        symbol: symbol('that the order is for'),
        price: number('Price that the order was placed at.'),
        amount: whole('How many shares the order is for.'),
        status: text(`State that the order is in. ${ORDER_STATES}`),
      },
      as: 'order',
      run: (state, { order_id }) => ({ ...orderOf(state, order_id) }),
    },
    {
      name: 'get_order_history',
      does: 'Lists the ids of the orders so far.',
      takes: {},
      gives: { order_history: list('integer', 'Ids of the orders so far.') },
      as: 'history',
      run: (state) => ({ order_history: Object.keys(state.orders).map(Number) }),
    },
    {
      name: 'get_stock_info',
      does: 'Tells about a stock.',
      takes: { symbol: symbol('to tell about; no other has it') },
      gives: {
        price: number('Price of the stock now.'),
        percent_change: number('Change of its price, in percent.'),
        volume: number('How much of it is traded.'),
        'MA(5)': number('Mean of its price over 5 days.'),
        'MA(20)': number('Mean of its price over 20 days.'),
      },
      as: 'stock',
      run: (state, { symbol: name }) => {
        const [price, percent_change, volume, five, twenty] = figuresOf(state, name);
        return { price, percent_change, volume, 'MA(5)': five, 'MA(20)': twenty };
      },
    },
    {
      name: 'get_symbol_by_name',
      does: 'Gives the symbol of the stock of a company.',
      takes: { name: text('Name of the company.') },
      gives: { symbol: text('Symbol of the stock, or "Stock not found" where there is none.') },
      as: 'company',
      run: (_, { name }) => ({ symbol: name.slice(0, 4).toUpperCase() }),
    },
    {
      name: 'get_transaction_history',
      does: 'Lists the transactions between two dates.',
      takes: {
        start_date: text("The first date (as 'YYYY-MM-DD').", NONE),
        end_date: text("The last date (as 'YYYY-MM-DD').", NONE),
      },
      gives: {
        transaction_history: rows(
          {
            type: text('Kind of the transaction. One of "deposit", "withdrawal".'),
            amount: number('Amount of the transaction.'),
            timestamp: text("When it was made, as 'YYYY-MM-DD HH:MM:SS'."),
          },
          'The transactions between both dates.',
        ),
      },
      as: 'transactions',
      run: () => ({ transaction_history: [] }),
    },
    {
      name: 'get_watchlist',
      does: 'Gives the watchlist.',
      takes: {},
      gives: { watchlist: list('string', 'Symbols of the stocks on the watchlist.') },
      as: 'watched',
      run: (state) => ({ watchlist: [...state.watchlist] }),
    },
    {
      name: 'notify_price_change',
      does: 'Tells whether the prices of stocks have changed by much.',
      takes: {
        stocks: list('string', 'Symbols of the stocks to look at.'),
        threshold: number('Change in percent from which on it is told.'),
      },
      gives: { notification: text('Which prices have changed, as a sentence.') },
      as: 'changes',
      run: () => ({ notification: 'No significant price changes in the selected stocks.' }),
    },
    {
      name: 'place_order',
      does: 'Places an order.',
      takes: {
        order_type: text('Kind of the order (Buy/Sell).'),
        symbol: symbol('to trade'),
        price: number('Price to place the order at.'),
        amount: whole('How many shares to trade.'),
      },
      gives: {
        order_id: whole('Id of the order that was placed.'),
        order_type: text('Kind of the order (Buy/Sell).'),
        status: text('State that the order is in at first.'),
        price: number('Price that the order was placed at.'),
        amount: whole('How many shares the order is for.'),
      },
      as: 'order',
      changes: true,
      run: (state, { order_type, symbol: name, price, amount }) => {
        const id = state.nextOrder++;
        state.orders[id] = { id, order_type, symbol: name, price, amount, status: 'Open' };
        return { order_id: id, order_type, status: 'Pending', price, amount };
      },
    },
    {
      name: 'remove_stock_from_watchlist',
      does: 'Takes a stock off the watchlist.',
      takes: { symbol: symbol('to take off') },
      gives: { status: text('How it went, as a sentence.') },
      run: (state, { symbol: name }) => {
        state.watchlist = state.watchlist.filter((one) => one !== name);
        return { status: `Stock ${name} removed from watchlist successfully.` };
      },
    },
    {
      name: 'trading_get_login_status',
      does: 'Tells whether a user is logged in.',
      takes: {},
      gives: { status: flag('Whether a user is logged in.') },
      as: 'login',
      run: () => ({ status: true }),
    },
    {
      name: 'trading_login',
      does: 'Logs a user in.',
      takes: { username: text('Name of the user.'), password: text('Password of the user.') },
      gives: { status: text('How it went, as a sentence.') },
      run: () => ({ status: 'Logged in successfully' }),
    },
    {
      name: 'trading_logout',
      does: 'Logs the user of the trading system out.',
      takes: {},
      gives: { status: text('How it went, as a sentence.') },
      run: () => ({ status: 'Logged out successfully' }),
    },
    {
      name: 'update_market_status',
      does: 'Brings the state of the market up to the time.',
      takes: { current_time_str: text('The time, in the form HH:MM AM/PM.') },
      gives: { status: text('State of the market. One of "Open", "Closed".') },
      as: 'market',
      changes: true,
      run: () => ({ status: 'Open' }),
    },
    {
      name: 'withdraw_funds',
      does: 'Pays an amount out of the account.',
      takes: { amount: number('The amount to pay out.') },
      gives: {
        status: text('How the payment went.'),
        new_balance: number('Balance of the account, now that it was paid out.'),
      },
      run: (state, { amount }) => {
        state.balance -= amount;
        return { status: 'Withdrawal successful', new_balance: state.balance };
      },
    },
  ],
};

/** The figures of a stock. Stocks of only one task have only a price, so their other figures are derived from it. */
function figuresOf({ prices }, name) {
  const price = prices[name];
  return price === undefined ? STOCKS[name] : [price, 0.05, 1.5, price - 0.5, price - 0.25];
}

function priceOf(state, name) {
  return figuresOf(state, name)[0];
}

function orderOf({ orders }, id) {
  if (orders[id] === undefined) throw new Error(`There is no order ${id}.`);
  return orders[id];
}
