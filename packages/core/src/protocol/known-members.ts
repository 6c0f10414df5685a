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
      ? [keyof NamedMembers<T>] extends [never]
        ? T
        : { [Key in keyof NamedMembers<T>]: KnownMembers<NamedMembers<T>[Key], Open> }
      : T;

type NamedMembers<T> = {
  [
    Key in keyof T as string extends Key ? never : number extends Key ? never : symbol extends Key ? never : Key
  ]: T[Key];
};
