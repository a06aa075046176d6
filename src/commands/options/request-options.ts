import type { Command } from 'commander';
import { EARLY_PICK_BYTES } from '../../extproc/session/session-rules.ts';
import type { RequestOptions } from '../../serve/options/serve-options.ts';
import { wholeNumber } from './option-values.ts';

/** Many times a prompt of a million tokens. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;

export interface RequestFlags
  extends Omit<
    RequestOptions,
    'bodyBytesMax' | 'maxReservationAgeMs' | 'trustClientControls' | 'limits'
  > {
  readonly maxBodyBytes: number;
}

/** How requests are read and answered. */
export function addRequestOptions(command: Command): Command {
  return command
    .option(
      '--max-body-bytes <n>',
      'answer requests with larger bodies with 413',
      wholeNumber,
      BODY_BYTES_MAX,
    )
    .option(
      '--early-pick-bytes <n>',
      'when the proxy streams bodies: decide after this many bytes at the latest; keep it below ' +
        'the proxy’s buffer limit',
      wholeNumber,
      EARLY_PICK_BYTES,
    )
    .option(
      '--disable-endpoint-subset-filter',
      'route to all endpoints, also where the proxy names those that a request may go to',
      false,
    )
    .option(
      '--emit-endpoint-scores',
      'tell the proxy the score of each endpoint, in dynamic metadata',
      false,
    )
    .option(
      '--load-reports',
      'ask model servers for their load in the headers of answers (ORCA), which counts where a metrics ' +
        'page cannot be read or is older than 200 ms',
      false,
    )
    .option(
      '--half-close-after-pick',
      'in full duplex mode, take part in requests only: the end of a response is then predicted',
      false,
    );
}
