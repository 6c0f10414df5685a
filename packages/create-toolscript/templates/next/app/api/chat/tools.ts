import { tool } from 'ai';
import { z } from 'zod';

export const tools = {
  getWeather: tool({
    description: 'Current weather for a city',
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.object({ celsius: z.number() }),
    execute: ({ city }) => ({ celsius: city.length * 3 }),
  }),
  bookFlight: tool({
    description: 'Books a flight',
    inputSchema: z.object({ to: z.string() }),
    outputSchema: z.string(),
    needsApproval: true,
    execute: ({ to }) => `booked to ${to}`,
  }),
};
