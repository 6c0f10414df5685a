import { defineTool } from '#core/index.js';
import { z } from 'zod';

const Status = z.enum(['pending', 'paid', 'shipped', 'refunded']);

const Order = z.object({
  id: z.string(),
  userId: z.number(),
  status: Status,
  lines: z.array(z.object({ sku: z.string(), quantity: z.number(), unitPrice: z.number() })),
  total: z.number(),
  placedAt: z.string(),
  shippedAt: z.string().nullable(),
  discount: z.object({ code: z.string(), percent: z.number() }).optional(),
});

type Order = z.infer<typeof Order>;

const SKUS = ['pen', 'ink', 'desk', 'lamp', 'chair'];
const STATUSES = Status.options;

function order(index: number): Order {
  const lines = SKUS.slice(index % 3, (index % 3) + 1 + (index % 2)).map((sku, place) => ({
    sku,
    quantity: index + 1 + place,
    unitPrice: 2.5 * (SKUS.indexOf(sku) + 1),
  }));
  const status = STATUSES[index % STATUSES.length] ?? 'pending';
  const made: Order = {
    id: `o${index + 1}`,
    userId: (index % 3) + 1,
    status,
    lines,
    total: lines.reduce((sum, { quantity, unitPrice }) => sum + quantity * unitPrice, 0),
    placedAt: new Date(Date.UTC(2024, 3, 1 + index * 4, 9, 30)).toISOString(),
    shippedAt: status === 'shipped' ? new Date(Date.UTC(2024, 3, 3 + index * 4, 15)).toISOString() : null,
  };
  return index === 3 ? { ...made, discount: { code: 'SPRING', percent: 10 } } : made;
}

/** A shop: orders, stock, payments, mail. */
export function businessTools() {
  const orders = Array.from({ length: 8 }, (_, index) => order(index));
  const sent: string[] = [];
  return [
    defineTool({
      name: 'listOrders',
      description: 'Orders, oldest first, in pages of pageSize.',
      effect: 'read',
      approval: 'never',
      input: z.object({
        userId: z.number().optional(),
        status: Status.optional(),
        page: z.number().int().min(1).default(1),
        pageSize: z.number().int().min(1).max(20).default(5),
      }),
      output: z.object({ orders: z.array(Order), page: z.number(), pageCount: z.number() }),
      execute: ({ userId, status, page, pageSize }) => {
        const all = orders.filter(
          (candidate) =>
            (userId === undefined || candidate.userId === userId) &&
            (status === undefined || candidate.status === status),
        );
        const end = page * pageSize;
        return { orders: all.slice(end - pageSize, end), page, pageCount: Math.ceil(all.length / pageSize) };
      },
    }),
    defineTool({
      name: 'getOrder',
      description: 'One order.',
      effect: 'read',
      approval: 'never',
      input: z.object({ orderId: z.string() }),
      output: Order,
      execute: ({ orderId }) => {
        const found = orders.find(({ id }) => id === orderId);
        if (found === undefined) throw new Error(`order ${orderId} not found`);
        return found;
      },
    }),
    defineTool({
      name: 'refundOrder',
      description: 'Gives money back.',
      effect: 'external',
      approval: 'never',
      input: z.object({
        orderId: z.string(),
        amount: z.number().positive(),
        reason: z.enum(['damaged', 'late', 'other']).optional(),
      }),
      output: z.object({ refundId: z.string(), status: z.enum(['accepted', 'rejected']) }),
      execute: ({ orderId, amount }) => ({
        refundId: `r-${orderId}`,
        status: amount > 100 ? ('rejected' as const) : ('accepted' as const),
      }),
    }),
    defineTool({
      name: 'getInventory',
      description: 'Stock by SKU. Unknown SKUs are left out.',
      effect: 'read',
      approval: 'never',
      input: z.object({ skus: z.array(z.string()) }),
      output: z.object({ stock: z.record(z.string(), z.number()) }),
      execute: ({ skus }) => ({
        stock: Object.fromEntries(skus.filter((sku) => SKUS.includes(sku)).map((sku) => [sku, SKUS.indexOf(sku) * 7])),
      }),
    }),
    defineTool({
      name: 'payments.charge',
      description: 'Charges a card. A decline is a result, no error.',
      effect: 'external',
      approval: 'never',
      input: z.object({ amount: z.number(), currency: z.enum(['EUR', 'USD']).default('EUR'), card: z.string() }),
      output: z.discriminatedUnion('status', [
        z.object({ status: z.literal('succeeded'), chargeId: z.string(), amount: z.number() }),
        z.object({ status: z.literal('declined'), code: z.string(), message: z.string() }),
      ]),
      execute: ({ amount, card }) =>
        amount <= 500
          ? { status: 'succeeded' as const, chargeId: `ch_${card.slice(-4)}_${amount}`, amount }
          : { status: 'declined' as const, code: 'limit', message: 'over the limit' },
    }),
    defineTool({
      name: 'sendEmail',
      description: 'Sends a mail.',
      effect: 'external',
      approval: 'never',
      input: z.object({
        to: z.array(z.string()),
        subject: z.string(),
        body: z.string(),
        cc: z.array(z.string()).optional(),
        priority: z.enum(['low', 'normal', 'high']).default('normal'),
      }),
      output: z.object({ messageId: z.string(), accepted: z.array(z.string()), rejected: z.array(z.string()) }),
      execute: ({ to, subject }) => {
        sent.push(subject);
        return {
          messageId: `m${sent.length}`,
          accepted: to.filter((address) => address.includes('@')),
          rejected: to.filter((address) => !address.includes('@')),
        };
      },
    }),
    defineTool({
      name: 'runSql',
      description: 'Runs a query. Gives { columns, rows }; rows are objects.',
      effect: 'read',
      approval: 'never',
      input: z.object({ query: z.string(), params: z.array(z.unknown()).optional() }),
      execute: ({ query, params = [] }) => {
        if (!/^\s*select\b/iu.test(query)) throw new Error('only SELECT is allowed');
        const rows = orders.map(({ id, userId, total, status }) => ({ id, user_id: userId, total, status }));
        return {
          columns: ['id', 'user_id', 'total', 'status'],
          rows: params.length === 0 ? rows : rows.filter((row) => params.includes(row.user_id)),
        };
      },
    }),
    defineTool({
      name: 'reports.legacy',
      description: 'A report as a JSON text.',
      effect: 'read',
      approval: 'never',
      input: z.object({ name: z.string() }),
      execute: ({ name }) =>
        JSON.stringify({
          name,
          generated: '2024-05-01',
          sections: [
            { title: 'Sales', values: [3, 1, 2], meta: { unit: 'kEUR' } },
            { title: 'Costs', values: [], meta: null },
          ],
        }),
    }),
  ];
}
