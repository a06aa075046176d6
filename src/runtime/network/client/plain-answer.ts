const HEAD_END = Buffer.from('\r\n\r\n');
/** A longer head is not plain. */
const HEAD_BYTES_MAX = 8 * 1024;

const STATUS = /^HTTP\/1\.1 ([2-5]\d\d)(?: [^\r\n]*)?\r\n/;
const LENGTH = /\r\ncontent-length:[ \t]*(\d{1,10})[ \t]*\r\n/i;
/** Fields that change how the body is read or whether the connection stays, and folded lines. */
const NOT_PLAIN =
  /\r\n(?:[ \t]|transfer-encoding[ \t]*:|upgrade[ \t]*:|trailer[ \t]*:|connection[ \t]*:(?![ \t]*keep-alive[ \t]*\r\n))/i;
const LENGTH_FIELD = /\r\ncontent-length[ \t]*:/gi;

/** How a plain answer begins. */
export interface PlainHead {
  readonly status: number;
  readonly bodyBytes: number;
  /** Where the body begins. */
  readonly headBytes: number;
}

/**
 * Reads the head of an HTTP answer that has a length and leaves the connection open: nothing else
 * has to be known to read its body. Undefined for all other answers, for a head that is not whole,
 * and for what is no HTTP.
 */
export function plainHead(bytes: Buffer): PlainHead | undefined {
  const blank = bytes.indexOf(HEAD_END);
  if (blank < 0 || blank > HEAD_BYTES_MAX) return undefined;
  const headBytes = blank + HEAD_END.length;
  const head = bytes.toString('latin1', 0, headBytes);
  const status = Number(STATUS.exec(head)?.[1]);
  const bodyBytes = Number(LENGTH.exec(head)?.[1]);
  // These have no body, whatever their length says.
  if (Number.isNaN(status) || status === 204 || status === 304) return undefined;
  if (Number.isNaN(bodyBytes) || NOT_PLAIN.test(head)) return undefined;
  return head.match(LENGTH_FIELD)?.length === 1 ? { status, bodyBytes, headBytes } : undefined;
}
