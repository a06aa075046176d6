import type { Command } from 'commander';
import { SIDECAR_BOUNDS } from '../../../sidecar/options/sidecar-options.ts';
import { addTimeLimit, atLeastOne, wholeNumber } from '../../options/option-values.ts';

/** What clients and engines may take: sizes, numbers and times. */
export interface BoundFlags {
  readonly maxBodyBytes: number;
  readonly maxBufferedBytes: number;
  readonly maxRequests: number;
  readonly uploadTimeoutMs: number;
  readonly clientIdleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly prefillTimeoutMs: number;
  readonly encodeTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
}

export function addBoundOptions(command: Command): Command {
  const { bodyBytesMax, bufferedBytesMax, requestsMax } = SIDECAR_BOUNDS;
  command
    .option('--max-body-bytes <n>', 'refuse longer bodies with 413', atLeastOne, bodyBytesMax)
    .option(
      '--max-buffered-bytes <n>',
      'bodies that servers have not yet read or answered; refuse more with 503',
      atLeastOne,
      bufferedBytesMax,
    )
    .option('--max-requests <n>', 'refuse more open requests with 503', atLeastOne, requestsMax);
  addTimeLimits(command);
  return command
    .option(
      '--drain-notice-ms <ms>',
      'after SIGTERM, fail health checks for so long before closing the port',
      wholeNumber,
      5_000,
    )
    .option(
      '--drain-timeout-ms <ms>',
      'then let open requests go on for at most so long',
      wholeNumber,
      60_000,
    );
}

function addTimeLimits(command: Command): void {
  const times = SIDECAR_BOUNDS;
  const ms = addTimeLimit.bind(undefined, command);
  ms('upload-timeout-ms', 'longest upload of a body', times.uploadTimeoutMs);
  ms('client-idle-timeout-ms', 'longest standstill of a client', times.clientIdleTimeoutMs);
  ms('connect-timeout-ms', 'longest wait for a connection', times.connectTimeoutMs);
  ms(
    'prefill-timeout-ms',
    'longest prefill elsewhere; then the engine does it',
    times.prefillTimeoutMs,
  );
  ms(
    'encode-timeout-ms',
    'longest encoding elsewhere; then the engine does it',
    times.encodeTimeoutMs,
  );
  ms('first-byte-timeout-ms', 'longest wait for the engine’s headers', times.firstByteTimeoutMs);
  ms('idle-timeout-ms', 'longest pause within the engine’s answer', times.idleTimeoutMs);
}
