import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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
function framingFault({ headersDistinct, httpVersion }: IncomingMessage): FramingFault | undefined {
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

/** Finds the requests of a port with such a fault. Nothing behind them on their connection counts. */
export class FramingFaults {
  /** Where the next request begins on these is not certain. */
  readonly #unreadable = new WeakSet<Socket>();

  /**
   * What to refuse the request with; its answer then closes the connection. `unread`: Node has
   * parsed it with a refused one before it, and nothing may answer it. Undefined without a fault.
   */
  of(request: IncomingMessage, response: ServerResponse): FramingFault | 'unread' | undefined {
    if (this.#unreadable.has(request.socket)) return 'unread';
    const fault = framingFault(request);
    if (fault === undefined) return undefined;
    this.#unreadable.add(request.socket);
    response.setHeader('connection', 'close');
    return fault;
  }
}
