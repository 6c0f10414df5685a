/** The tag of a file in a user's message, as the page attaches it. A text that contains the tag has a longer one. */
export const ATTACHED_FILE_TAG = 'attached-file';

/** Limits for the files of one message: the maximum number of files, and the maximum bytes of each. */
export const MAX_FILES = 4;
export const MAX_FILE_BYTES = 5 * 1024 * 1024;
