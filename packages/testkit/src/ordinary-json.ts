import * as fc from 'fast-check';

/** Returns true if a call can carry the value: no call carries a member `__proto__`. */
export function isOrdinary(value: unknown): boolean {
  return !JSON.stringify(value).includes('"__proto__":');
}

/** JSON that a call can carry. */
export const ordinaryJson = fc.jsonValue().filter(isOrdinary);
