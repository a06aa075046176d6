/** A block that breaks HPACK's rules; the connection cannot go on (COMPRESSION_ERROR). */
export class HpackError extends Error {}
