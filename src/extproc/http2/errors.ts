/** Error codes of HTTP/2 (RFC 9113, section 7). */
export const HTTP2 = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

/** What a peer does that ends its whole connection. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** One of the codes in `HTTP2`. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
