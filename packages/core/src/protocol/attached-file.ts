/** The tag of a file in a user's message, as the page attaches it. A text that contains the tag has a longer one. */
export const ATTACHED_FILE_TAG = 'attached-file';
