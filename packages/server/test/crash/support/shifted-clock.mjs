// `node --import` of this file sets the clock of the process ahead by TOOLSCRIPT_TEST_CLOCK_MS.
const aheadMs = Number(process.env.TOOLSCRIPT_TEST_CLOCK_MS);
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...parameters) {
    if (parameters.length === 0) super(RealDate.now() + aheadMs);
    else super(...parameters);
  }

  static now() {
    return RealDate.now() + aheadMs;
  }
};
