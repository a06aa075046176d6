/** What of Node's streams is there to be overridden. */
export interface Destroyable {
  _destroy(error: Error | null, callback: (error?: Error | null) => void): void;
}

/**
 * Envoy resets each stream with an error code once it needs nothing more, for which Node makes an Error with a stack that nobody
 * reads: 7 % of the CPU of a request of 1 KB. From now on this stream ends without one.
 */
export function suppressResetStack(stream: Destroyable): void {
  stream._destroy = destroyWithoutStack;
}

function destroyWithoutStack(
  this: Destroyable,
  error: Error | null,
  callback: (error?: Error | null) => void,
): void {
  const kind = Object.getPrototypeOf(this) as Destroyable;
  const frames = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    kind._destroy.call(this, error, callback);
  } finally {
    Error.stackTraceLimit = frames;
  }
}
