import * as fc from 'fast-check';

/**
 * Continuous integration judges a change, so its property tests try the same values for each change. All other runs try
 * new values.
 */
if (process.env['CI'] !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
