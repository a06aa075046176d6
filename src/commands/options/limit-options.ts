import { type Command, InvalidArgumentError } from 'commander';
import {
  DEFAULT_LIMITS,
  limitsFor,
  type ServerLimits,
} from '../../extproc/server/port/server-limits.ts';
import { CAPACITY_PARTS_MAX, type CapacityPart } from '../../picker/plan/capacity-plan.ts';
import { memoryLimitBytes } from '../../runtime/process/memory-limit.ts';
import { atLeastOne, wholeNumber } from './option-values.ts';

/** What `serve` allows gateways and their clients. */
export interface LimitFlags
  extends Omit<
    ServerLimits,
    'heldBytesMax' | 'connectionsMax' | 'streamsMax' | 'messageBytesMax' | 'sentBytesMax'
  > {
  readonly maxHeldBytes?: number;
  readonly maxStreams?: number;
  readonly maxMessageBytes?: number;
  readonly maxSentMessageBytes?: number;
}

export function addLimitOptions(command: Command): Command {
  return addGatewayLimits(command).option(
    '--capacity-part <n/of>',
    'use this part of the capacity of each endpoint, such as 1/4 for the first of four pickers: ' +
      'then they never exceed it together',
    capacityPart,
  );
}

function addGatewayLimits(command: Command): Command {
  return command
    .option(
      '--max-held-bytes <n>',
      'most bytes of bodies kept for all requests together; past it, the newest requests that have ' +
        'more than an equal share get 429 (default: a quarter of the memory of the container or machine, less below 1 GB)',
      atLeastOne,
    )
    .option(
      '--max-streams <n>',
      'most requests open at once; a further one gets 503 (default: as many as half of that memory ' +
        'holds at 48 KiB each)',
      atLeastOne,
    )
    .option(
      '--max-message-bytes <n>',
      'end a stream of a gateway that sends a larger message (default: room for --max-body-bytes)',
      atLeastOne,
    )
    .option(
      '--max-sent-message-bytes <n>',
      'end a stream rather than send it a larger message (default: no limit)',
      atLeastOne,
    )
    .option(
      '--upload-idle-timeout-ms <ms>',
      'answer a request with 408 when no byte of its body comes for this long; 0 waits',
      wholeNumber,
      DEFAULT_LIMITS.uploadIdleTimeoutMs,
    )
    .option(
      '--upload-timeout-ms <ms>',
      'answer a request with 408 when its body has not ended after this time; 0 waits',
      wholeNumber,
      DEFAULT_LIMITS.uploadTimeoutMs,
    )
    .option(
      '--keepalive-time-ms <ms>',
      'ask each connection of a gateway for a sign of life this often; 0 never asks',
      wholeNumber,
      DEFAULT_LIMITS.keepaliveTimeMs,
    )
    .option(
      '--keepalive-timeout-ms <ms>',
      'close a connection that does not answer within this time, and give its reservations back',
      wholeNumber,
      DEFAULT_LIMITS.keepaliveTimeoutMs,
    );
}

function capacityPart(text: string): CapacityPart {
  const [, number, of] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? [];
  const part = { number: Number(number), of: Number(of) };
  if (part.number >= 1 && part.number <= part.of && part.of <= CAPACITY_PARTS_MAX) return part;
  throw new InvalidArgumentError(
    `${text} is no part: give the number of this picker and how many there are, such as 1/4, up to ${CAPACITY_PARTS_MAX}.`,
  );
}

/** Bounds of memory that no flag gives depend on the memory that this process may use. */
export function limitsFrom(flags: LimitFlags): ServerLimits {
  const { maxHeldBytes, maxStreams, maxMessageBytes, maxSentMessageBytes, ...given } = flags;
  const defaults = limitsFor(memoryLimitBytes());
  return {
    ...given,
    messageBytesMax: maxMessageBytes,
    sentBytesMax: maxSentMessageBytes,
    heldBytesMax: maxHeldBytes ?? defaults.heldBytesMax,
    connectionsMax: defaults.connectionsMax,
    streamsMax: maxStreams ?? defaults.streamsMax,
  };
}
