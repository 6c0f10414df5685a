/** The default identity of this program for the other side of a connection. */
export const IDENTITY = { name: 'toolscript', version: '0.1.0' };
