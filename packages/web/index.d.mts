/** The folder of the built page, for the option `page` of `createServer`. */
export declare const pageFolder: string;
