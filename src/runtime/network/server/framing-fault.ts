import type { IncomingMessage } from 'node:http';

/** Why a request is refused, whose connection then ends. */
export interface FramingFault {
  readonly status: 400 | 501;
  readonly sentence: string;
}

/**
 * What Node accepts in the head of a request and two servers could read differently: several `Host`
 * headers, where it keeps the first, and a `Transfer-Encoding` that HTTP does not allow or that this
 * server cannot undo (RFC 9112, 3.2, 6.1). A proxy in front may have found another end of the body.
 */
export function framingFault({
  headersDistinct,
  httpVersion,
}: IncomingMessage): FramingFault | undefined {
  const hosts = headersDistinct['host']?.length ?? 0;
  if (hosts > 1)
    return { status: 400, sentence: `the request has ${hosts} Host headers: send one` };
  const codings = headersDistinct['transfer-encoding']?.join(', ');
  if (codings === undefined) return undefined;
  if (httpVersion !== '1.1') {
    const sentence = `HTTP/${httpVersion} has no Transfer-Encoding: send Content-Length`;
    return { status: 400, sentence };
  }
  if (codings.toLowerCase() === 'chunked') return undefined;
  const sentence = `Transfer-Encoding ${codings} is not understood here: send chunked`;
  return { status: 501, sentence };
}
