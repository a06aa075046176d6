import type { Command } from 'commander';
import { SIDECAR_BOUNDS, type SidecarBounds } from '../../../sidecar/options/sidecar-options.ts';
import {
  addTimeLimits,
  atLeastOne,
  type TimeLimitFlag,
  wholeNumber,
} from '../../options/option-values.ts';

type TimeLimits = Omit<SidecarBounds, 'bodyBytesMax' | 'bufferedBytesMax' | 'requestsMax'>;

/** What clients and engines may take: sizes, numbers and times. */
export interface BoundFlags extends TimeLimits {
  readonly maxBodyBytes: number;
  readonly maxBufferedBytes: number;
  readonly maxRequests: number;
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
}

const TIME_LIMITS: Readonly<Record<keyof TimeLimits, TimeLimitFlag>> = {
  uploadTimeoutMs: ['upload-timeout-ms', 'longest upload of a body'],
  clientIdleTimeoutMs: ['client-idle-timeout-ms', 'longest standstill of a client'],
  connectTimeoutMs: ['connect-timeout-ms', 'longest wait for a connection'],
  prefillTimeoutMs: ['prefill-timeout-ms', 'longest prefill elsewhere; then the engine does it'],
  encodeTimeoutMs: ['encode-timeout-ms', 'longest encoding elsewhere; then the engine does it'],
  firstByteTimeoutMs: ['first-byte-timeout-ms', 'longest wait for the engine’s headers'],
  idleTimeoutMs: ['idle-timeout-ms', 'longest pause within the engine’s answer'],
};

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
  addTimeLimits(command, TIME_LIMITS, SIDECAR_BOUNDS);
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
