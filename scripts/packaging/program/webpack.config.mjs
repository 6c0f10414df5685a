import { resolve } from 'node:path';

export default {
  mode: 'production',
  target: 'node20',
  entry: './main.mjs',
  output: { path: resolve('out/webpack'), filename: 'main.cjs' },
};
