export interface Destroyable {
  _destroy(error: Error | null, callback: (error?: Error | null) => void): void;
}

/** Envoy resets each stream; the error's stack, never read, is 7 % of a 1 KB request's CPU. */
export function suppressResetStack(stream: Destroyable): void {
  stream._destroy = destroyWithoutStack;
}

function destroyWithoutStack(
  this: Destroyable,
  error: Error | null,
  callback: (error?: Error | null) => void,
): void {
  const prototype = Object.getPrototypeOf(this) as Destroyable;
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    prototype._destroy.call(this, error, callback);
  } finally {
    Error.stackTraceLimit = limit;
  }
}
