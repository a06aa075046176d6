/**
 * Whether the system is why a file could not be read, and not what is in it: for want of file
 * descriptors, say. It may go well a moment later, though the file does not change.
 */
export function isSystemFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isOfSystem = 'errno' in error || codeOf(error) === 'ERR_WORKER_INIT_FAILED';
  return isOfSystem || isSystemFault(error.cause);
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : undefined;
}
