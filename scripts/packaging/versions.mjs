// The tested versions. docs/how-to/bundlers.md lists the same ones.
export const VERSIONS = {
  '@arethetypeswrong/cli': '0.18.5',
  '@mastra/core': '1.71.0',
  ai: '7.0.173',
  bun: '1.4.5',
  esbuild: '0.28.2',
  next: '16.4.6',
  'next 15': '15.5.29',
  postject: '1.0.0-alpha.6',
  publint: '0.3.25',
  react: '19.3.1',
  rolldown: '1.3.2',
  'typescript 5': '5.9.3',
  'typescript 7': '7.0.2',
  vite: '8.3.8',
  webpack: '5.112.2',
  'webpack-cli': '7.3.1',
};
