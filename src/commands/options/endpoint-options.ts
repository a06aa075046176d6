import type { Command } from 'commander';
import { ENGINE_COUNT_MAX } from '../../framework/endpoint-attributes.ts';
import type { PoolOptions } from '../../serve/options/serve-options.ts';
import { commaSeparated, from1To, wholeNumber } from './option-values.ts';

/** Longer than restarts of name servers take; the scrapes show which servers are gone. */
const DNS_KEEP_MS = 300_000;

/** They reach `startServe` as they are. */
export type EndpointFlags = Omit<PoolOptions, 'poolName' | 'kubernetes' | 'election'>;

/** Which model servers there are, where no cluster says it. */
export function addEndpointOptions(command: Command): Command {
  return command
    .option(
      '--endpoints <host:port,…>',
      'model servers, separated by commas; host names are resolved and followed',
      commaSeparated,
      [],
    )
    .option(
      '--endpoints-file <file>',
      'model servers as a YAML or JSON file, read again when it changes',
    )
    .option(
      '--dns-keep-ms <ms>',
      'keep the last addresses of a host name this long while it cannot be resolved',
      wholeNumber,
      DNS_KEEP_MS,
    )
    .option(
      '--data-parallel-size <n>',
      'data-parallel ranks behind the address of each model server, as vLLM has them with this flag: ' +
        'each is an endpoint, and a header names it to the server',
      from1To(ENGINE_COUNT_MAX),
      1,
    )
    .option(
      '--pool-name <name>',
      'name of the InferencePool, also the label `name` of the pool metrics (default: "default")',
    )
    .option(
      '--ready-min-fresh <n>',
      'not ready (503) with fewer model servers whose metrics are fresh; with 0 such a picker is ' +
        'ready and degraded, as it can still route by the load in flight',
      wholeNumber,
      0,
    );
}
