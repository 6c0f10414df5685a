import { withToolscript } from '@toolscript/core/next';

const plain = { output: 'standalone', outputFileTracingRoot: import.meta.dirname };
export default process.env.WITHOUT_HELPER === undefined ? withToolscript(plain) : plain;
