import { withToolscript } from '@toolscript/core/next';

export default withToolscript({});
