import type { Clock } from '../src/framework/runtime.ts';
import { EventRecorder } from './kv-events/event-recorder.ts';
import { KvEventPublisher } from './kv-events/kv-event-publisher.ts';
import type { EngineAddress } from './options/engine-addresses.ts';
import type { StubOptions } from './options/stub-options.ts';

/** What an engine publishes, and how. */
export interface KvEvents {
  readonly recorder: EventRecorder;
  readonly publisher: KvEventPublisher;
}

/** Creates the publisher of an engine's KV events, not open yet; undefined if there is none. */
export function kvEventsOf(
  options: StubOptions,
  place: EngineAddress,
  clock: Clock,
): KvEvents | undefined {
  const addresses = kvEventAddresses(options, place);
  if (addresses === undefined) return undefined;
  const { kvEventsFormat, model, modelRoot = model, blockTokens, podIp } = options;
  const { host, port, portOffset, rank, ownsAddress } = place;
  const offset = portOffset - (ownsAddress ? 0 : rank);
  const topic = `kv@${podIp ?? host}:${port === 0 ? offset : port}@${modelRoot}`;
  const publisher = new KvEventPublisher({
    ...addresses,
    topic: options.kvEventsTarget?.topic || topic,
    format: kvEventsFormat,
    dataParallelRank: rank,
    wallSeconds: () => clock.wallTime() / 1000,
  });
  const recorder = new EventRecorder(blockTokens, (events) => publisher.publish(events));
  return { recorder, publisher };
}

type KvEventAddresses = Pick<
  ConstructorParameters<typeof KvEventPublisher>[0],
  'endpoint' | 'bind' | 'replayEndpoint' | 'replayBatches'
>;

/** A port for each rank, after the first server's port or the address that is given. */
function kvEventAddresses(
  { kvEventsTarget, kvEventsPort, kvEventsReplayPort }: StubOptions,
  { host, portOffset, rank }: EngineAddress,
): KvEventAddresses | undefined {
  if (kvEventsTarget !== undefined) {
    const { endpoint, replayEndpoint, replayBatches } = kvEventsTarget;
    const ofRank = (address: string): string =>
      address.replace(/:(\d+)$/, (_, first) => `:${Number(first) + rank}`);
    return {
      endpoint: ofRank(endpoint),
      replayEndpoint: replayEndpoint === undefined ? undefined : ofRank(replayEndpoint),
      replayBatches,
    };
  }
  if (kvEventsPort === undefined) return undefined;
  const bound = (first: number): string =>
    `tcp://${host}:${first === 0 ? '*' : first + portOffset}`;
  return {
    endpoint: bound(kvEventsPort),
    bind: true,
    replayEndpoint: kvEventsReplayPort === undefined ? undefined : bound(kvEventsReplayPort),
  };
}
