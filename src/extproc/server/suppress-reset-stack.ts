export interface Destroyable {
  _destroy(error: Error | null, callback: (error?: Error | null) => void): void;
}

/**
 * Makes the error of a reset stream without a stack: Envoy resets each stream, and the stack, which
 * nothing reads, is 7 % of the CPU of a 1 KB request.
 */
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
