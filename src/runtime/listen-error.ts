const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something listens there already; end it, or take another port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'this user may not; take a port of 1024 or more',
};

/** An address, `host:port`, that cannot be listened on. The message is a sentence for whoever gave it. */
export class ListenError extends Error {
  override readonly name = 'ListenError';

  constructor(address: string, cause: Error) {
    // gRPC has the system's code in the text alone, ZeroMQ beside it.
    const { code = /\bE[A-Z]{4,}\b/.exec(cause.message)?.[0] ?? '' } = cause as { code?: string };
    super(`cannot listen on ${address}: ${REASONS[code] ?? cause.message}`, { cause });
  }
}
