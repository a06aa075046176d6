import { messageOf } from '../../framework/error.ts';
/**
 * Warns of a plugin that failed, once for each report, as Node does it: on stderr, and to listeners
 * of the process's event `warning`.
 */
export function warnOfFault({
  kind,
  name,
  call,
  error,
}: {
  readonly kind: string;
  readonly name: string;
  readonly call: string;
  readonly error: unknown;
}): void {
  const message = messageOf(error);
  process.emitWarning(`${kind} ${name} failed in ${call} and was left out: ${message}`, {
    type: 'PointsmanPluginFault',
    ...(error instanceof Error && error.stack !== undefined && { detail: error.stack }),
  });
}
