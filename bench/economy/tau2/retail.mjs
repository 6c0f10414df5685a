import { list, object, text } from '../bfcl/services/schemas.mjs';

/**
 * The tools of a shop over its database of products, users and orders. The names, the arguments and the shapes of the
 * data are those of the retail domain of tau2-bench; the implementations are this repository's own.
 *
 * @typedef {object} RetailTool
 * @property {string} name
 * @property {string} does
 * @property {object} takes Schemas by argument.
 * @property {object} gives The schema of the result.
 * @property {boolean} [changes]
 * @property {(db: any, args: any) => unknown} run Throws if the shop refuses the call.
 */

const record = (of) => ({ type: 'object', additionalProperties: of });
const amount = { type: 'number' };
const word = { type: 'string' };

const ADDRESS = object({ address1: word, address2: word, city: word, country: word, state: word, zip: word });
const VARIANT = object({ item_id: word, options: record(word), available: { type: 'boolean' }, price: amount });
const PRODUCT = object({ name: word, product_id: word, variants: record(VARIANT) });
const METHOD = object(
  { source: word, id: word, brand: word, last_four: word, balance: amount },
  { optional: ['brand', 'last_four', 'balance'] },
);
const USER = object({
  user_id: word,
  name: object({ first_name: word, last_name: word }),
  address: ADDRESS,
  email: word,
  payment_methods: record(METHOD),
  orders: { type: 'array', items: word },
});
const ORDER = object(
  {
    order_id: word,
    user_id: word,
    address: ADDRESS,
    items: {
      type: 'array',
      items: object({ name: word, product_id: word, item_id: word, price: amount, options: record(word) }),
    },
    status: word,
    fulfillments: {
      type: 'array',
      items: object({ tracking_id: { type: 'array', items: word }, item_ids: { type: 'array', items: word } }),
    },
    payment_history: {
      type: 'array',
      items: object({ transaction_type: word, amount, payment_method_id: word }),
    },
  },
  { additionalProperties: true },
);

const orderId = text("The order's id, which begins with '#', as in '#W0000000'");
const userId = text("The user's id");
const itemIds = list('string', 'The items of the order; an item may be in it several times');
const newItemIds = list('string', 'The items to get instead, each of the same product, in the same order');
const methodId = (what) => text(`The payment method of the user's profile ${what}`);
const addressArgs = {
  address1: text('The first line of the address'),
  address2: text('The second line of the address'),
  city: text('The city'),
  state: text('The state, as two letters'),
  country: text('The country'),
  zip: text('The zip code'),
};

const cents = (value) => Math.round(value * 100) / 100;

function need(condition, refusal) {
  if (!condition) throw new Error(refusal);
}

function found(records, id, kind) {
  need(Object.hasOwn(records, id), `${kind} not found`);
  return records[id];
}

/** A record that may change: the database gets its own copy of it. */
function own(records, id, kind) {
  records[id] = structuredClone(found(records, id, kind));
  return records[id];
}

const ownOrder = ({ orders }, id) => own(orders, id, 'Order');

function orderIn(db, id, status) {
  const order = ownOrder(db, id);
  need(order.status.includes(status), `The order is not ${status}`);
  return order;
}

function methodOf(db, { user_id: id }, method) {
  return found(own(db.users, id, 'User').payment_methods, method, 'Payment method');
}

function payInto(method, value) {
  if (method.source === 'gift_card') method.balance = cents(method.balance + value);
}

function mustCover(method, value) {
  need(method.source !== 'gift_card' || method.balance >= value, 'The gift card has not enough balance');
}

/** The ordered items that change, each with the variant that replaces it. */
function replacements({ products }, { items }, old, wanted) {
  need(old.length === wanted.length, 'As many new items as old ones are needed');
  const left = [...items];
  return old.map((id, index) => {
    const at = left.findIndex((item) => item.item_id === id);
    need(at >= 0, `Item ${id} not found`);
    const [item] = left.splice(at, 1);
    const variant = found(products[item.product_id].variants, wanted[index], 'New item');
    need(variant.available, `New item ${variant.item_id} is not available`);
    return { item, variant };
  });
}

const difference = (changes) => cents(changes.reduce((sum, { item, variant }) => sum + variant.price - item.price, 0));

function replaceItems(db, { order_id: id, item_ids: old, new_item_ids: wanted, payment_method_id: paidBy }) {
  const order = ownOrder(db, id);
  need(order.status === 'pending', 'The order is not pending');
  const changes = replacements(db, order, old, wanted);
  const price = difference(changes);
  const method = methodOf(db, order, paidBy);
  mustCover(method, price);
  order.payment_history.push({
    transaction_type: price > 0 ? 'payment' : 'refund',
    amount: Math.abs(price),
    payment_method_id: paidBy,
  });
  payInto(method, -price);
  for (const { item, variant } of changes)
    Object.assign(item, { item_id: variant.item_id, price: variant.price, options: variant.options });
  order.status = 'pending (item modified)';
  return order;
}

function exchange(db, { order_id: id, item_ids: old, new_item_ids: wanted, payment_method_id: paidBy }) {
  const order = orderIn(db, id, 'delivered');
  const price = difference(replacements(db, order, old, wanted));
  mustCover(methodOf(db, order, paidBy), price);
  return Object.assign(order, {
    status: 'exchange requested',
    exchange_items: old.toSorted(),
    exchange_new_items: wanted.toSorted(),
    exchange_payment_method_id: paidBy,
    exchange_price_difference: price,
  });
}

function giveBack(db, { order_id: id, item_ids: returned, payment_method_id: paidTo }) {
  const order = orderIn(db, id, 'delivered');
  const method = methodOf(db, order, paidTo);
  const isFirst = order.payment_history[0].payment_method_id === paidTo;
  need(method.source === 'gift_card' || isFirst, 'The refund goes to the original payment method or to a gift card');
  const left = order.items.map(({ item_id: item }) => item);
  for (const item of returned) {
    need(left.includes(item), `Item ${item} not found`);
    left.splice(left.indexOf(item), 1);
  }
  return Object.assign(order, {
    status: 'return requested',
    return_items: returned.toSorted(),
    return_payment_method_id: paidTo,
  });
}

function cancel(db, { order_id: id, reason }) {
  const order = ownOrder(db, id);
  need(order.status === 'pending', 'The order is not pending');
  const refunds = order.payment_history.map((payment) => ({ ...payment, transaction_type: 'refund' }));
  for (const { amount: value, payment_method_id: method } of refunds) payInto(methodOf(db, order, method), value);
  order.payment_history.push(...refunds);
  return Object.assign(order, { status: 'cancelled', cancel_reason: reason });
}

function payBy(db, { order_id: id, payment_method_id: paidBy }) {
  const order = orderIn(db, id, 'pending');
  const [{ amount: value, payment_method_id: before }] = order.payment_history;
  need(before !== paidBy, 'The new payment method is the present one');
  const method = methodOf(db, order, paidBy);
  mustCover(method, value);
  order.payment_history.push(
    { transaction_type: 'payment', amount: value, payment_method_id: paidBy },
    { transaction_type: 'refund', amount: value, payment_method_id: before },
  );
  payInto(method, -value);
  payInto(methodOf(db, order, before), value);
  return order;
}

function userWhere({ users }, matches) {
  const user = Object.values(users).find(matches);
  need(user !== undefined, 'User not found');
  return user.user_id;
}

const isSame = (one, other) => one.toLowerCase() === other.toLowerCase();

/** The sum of a chain of additions and subtractions with `*` and `/` in it, without parentheses. */
function calculate(expression) {
  need(/^[\d+\-*/. ]+$/u.test(expression), 'Invalid characters in the expression');
  const terms = expression.replaceAll(' ', '').match(/[+-]?[^+-]+/gu) ?? [];
  const term = (written) =>
    [...written.matchAll(/([*/]?)([+-]?[\d.]+)/gu)].reduce(
      (value, [, operator, number]) =>
        operator === '*' ? value * Number(number) : operator === '/' ? value / Number(number) : Number(number),
      0,
    );
  return String(cents(terms.reduce((sum, written) => sum + term(written), 0)));
}

/** @type {readonly RetailTool[]} */
export const RETAIL_TOOLS = [
  {
    name: 'find_user_id_by_email',
    does: 'Finds the id of a user by the email address.',
    takes: { email: text("The user's email address") },
    gives: word,
    run: (db, { email }) => userWhere(db, (user) => isSame(user.email, email)),
  },
  {
    name: 'find_user_id_by_name_zip',
    does: 'Finds the id of a user by first name, last name and zip code.',
    takes: { first_name: text('The first name'), last_name: text('The last name'), zip: text('The zip code') },
    gives: word,
    run: (db, { first_name: first, last_name: last, zip }) =>
      userWhere(
        db,
        ({ name, address }) => isSame(name.first_name, first) && isSame(name.last_name, last) && address.zip === zip,
      ),
  },
  {
    name: 'get_user_details',
    does: "A user's profile with the ids of the orders and the payment methods.",
    takes: { user_id: userId },
    gives: USER,
    run: ({ users }, { user_id: id }) => found(users, id, 'User'),
  },
  {
    name: 'get_order_details',
    does: 'The status and the details of an order.',
    takes: { order_id: orderId },
    gives: ORDER,
    run: ({ orders }, { order_id: id }) => found(orders, id, 'Order'),
  },
  {
    name: 'get_product_details',
    does: 'The variants of a product, with their options, prices and availability.',
    takes: { product_id: text("The product's id, which differs from the ids of its items") },
    gives: PRODUCT,
    run: ({ products }, { product_id: id }) => found(products, id, 'Product'),
  },
  {
    name: 'get_item_details',
    does: 'One variant of a product, with its options, price and availability.',
    takes: { item_id: text("The item's id, which differs from the id of its product") },
    gives: VARIANT,
    run: ({ products }, { item_id: id }) =>
      found(Object.assign({}, ...Object.values(products).map(({ variants }) => variants)), id, 'Item'),
  },
  {
    name: 'list_all_product_types',
    does: 'The names of all products, each with its id.',
    takes: {},
    gives: record(word),
    run: ({ products }) =>
      Object.fromEntries(
        Object.values(products)
          .map(({ name, product_id: id }) => [name, id])
          .toSorted(([one], [other]) => (one < other ? -1 : 1)),
      ),
  },
  {
    name: 'calculate',
    does: 'The result of an expression of numbers with + - * and /.',
    takes: { expression: text("The expression, as in '2 + 2.5'") },
    gives: word,
    run: (_db, { expression }) => calculate(expression),
  },
  {
    name: 'cancel_pending_order',
    does: 'Cancels a pending order and refunds it. A gift card is refunded at once. Ask the user to confirm it before.',
    takes: {
      order_id: orderId,
      reason: text('The reason', { enum: ['no longer needed', 'ordered by mistake'] }),
    },
    gives: ORDER,
    changes: true,
    run: cancel,
  },
  {
    name: 'modify_pending_order_items',
    does: 'Replaces items of a pending order by others of the same products. Possible once for an order. Ask the user to confirm it before.',
    takes: {
      order_id: orderId,
      item_ids: itemIds,
      new_item_ids: newItemIds,
      payment_method_id: methodId('that pays or gets the difference'),
    },
    gives: ORDER,
    changes: true,
    run: replaceItems,
  },
  {
    name: 'modify_pending_order_address',
    does: 'Changes the address of a pending order. Ask the user to confirm it before.',
    takes: { order_id: orderId, ...addressArgs },
    gives: ORDER,
    changes: true,
    run: (db, { order_id: id, ...address }) => Object.assign(orderIn(db, id, 'pending'), { address }),
  },
  {
    name: 'modify_pending_order_payment',
    does: 'Changes the payment method of a pending order. Ask the user to confirm it before.',
    takes: { order_id: orderId, payment_method_id: methodId('that pays instead') },
    gives: ORDER,
    changes: true,
    run: payBy,
  },
  {
    name: 'modify_user_address',
    does: "Changes the default address of a user's profile. Ask the user to confirm it before.",
    takes: { user_id: userId, ...addressArgs },
    gives: USER,
    changes: true,
    run: ({ users }, { user_id: id, ...address }) => Object.assign(own(users, id, 'User'), { address }),
  },
  {
    name: 'return_delivered_order_items',
    does: 'Requests the return of items of a delivered order. Possible once for an order. Ask the user to confirm it before.',
    takes: { order_id: orderId, item_ids: itemIds, payment_method_id: methodId('that gets the refund') },
    gives: ORDER,
    changes: true,
    run: giveBack,
  },
  {
    name: 'exchange_delivered_order_items',
    does: 'Requests the exchange of items of a delivered order for others of the same products. Possible once for an order. Ask the user to confirm it before.',
    takes: {
      order_id: orderId,
      item_ids: itemIds,
      new_item_ids: newItemIds,
      payment_method_id: methodId('that pays or gets the difference'),
    },
    gives: ORDER,
    changes: true,
    run: exchange,
  },
  {
    name: 'transfer_to_human_agents',
    does: 'Transfers the user to a human agent, with a summary of the matter.',
    takes: { summary: text('The summary') },
    gives: word,
    changes: true,
    run: () => 'Transfer successful',
  },
];
