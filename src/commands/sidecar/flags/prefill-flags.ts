import type { Command } from 'commander';
import { SIDECAR_DEFAULTS } from '../../../sidecar/options/sidecar-options.ts';
import { atLeastOne, wholeNumber } from '../../options/option-values.ts';

/** Which prompts are computed where, and in which pieces answers are. */
export interface PrefillFlags {
  readonly enablePrefillerSampling: boolean;
  readonly enableSpeculativePrefill: boolean;
  readonly prefillMaxRetries: number;
  readonly prefillRetryBackoffMs: number;
  readonly decodeChunkSize: number;
}

export function addPrefillOptions(command: Command): Command {
  const { prefillRetries, prefillRetryBackoffMs, decodeChunkTokens } = SIDECAR_DEFAULTS;
  return command
    .option(
      '--enable-prefiller-sampling',
      'draw one of several prefilling servers that a request names, instead of the first',
      false,
    )
    .option(
      '--enable-speculative-prefill',
      'after a chat with the header x-speculative-prefill, compute it with its answer, ahead of the next turn',
      false,
    )
    .option(
      '--prefill-max-retries <n>',
      'ask a prefilling server again after 502, 503, 504 and broken connections',
      wholeNumber,
      prefillRetries,
    )
    .option(
      '--prefill-retry-backoff-ms <ms>',
      'wait so long before that',
      atLeastOne,
      prefillRetryBackoffMs,
    )
    .option(
      '--decode-chunk-size <tokens>',
      'decode chats in pieces of at most so many tokens; 0: in one piece',
      wholeNumber,
      decodeChunkTokens,
    );
}
