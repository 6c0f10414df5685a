/** The tag of a file in a user's message, as the page attaches it. A text that contains the tag has a longer one. */
export const ATTACHED_FILE_TAG = 'attached-file';

/** Maximum number of files of one message. */
export const MAX_FILES = 4;

/** Maximum bytes of each file of a message. */
export const MAX_FILE_BYTES = 5 * 1024 * 1024;
