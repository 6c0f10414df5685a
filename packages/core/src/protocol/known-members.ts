/**
 * A type without the index signatures that `z.looseObject` adds, at every depth, so that a misspelled member does not
 * compile; the data may still have unknown members. A type without any named member, such as a record, stays as it is,
 * and so does `Open`.
 */
export type KnownMembers<T, Open = never> = [T] extends [Open]
  ? T
  : T extends readonly unknown[]
    ? { [Index in keyof T]: KnownMembers<T[Index], Open> }
    : T extends object
      ? [keyof Named<T>] extends [never]
        ? T
        : { [Key in keyof Named<T>]: KnownMembers<Named<T>[Key], Open> }
      : T;

type Named<T> = {
  [
    Key in keyof T as string extends Key ? never : number extends Key ? never : symbol extends Key ? never : Key
  ]: T[Key];
};
