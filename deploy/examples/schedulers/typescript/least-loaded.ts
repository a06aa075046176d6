// Picks the endpoint with the fewest requests: those in flight by the picker's events, and those
// waiting by the server's metrics.
//   npm install @grpc/grpc-js @grpc/proto-loader
//   node least-loaded.ts unix:/run/pointsman/least-loaded.sock
import { rmSync } from 'node:fs';
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceClientConstructor,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

// In another project, this is the path of a copy of the file.
const PROTO = new URL('../../../../proto/pointsman/scheduler/v1/scheduler.proto', import.meta.url)
  .pathname;

interface Endpoint {
  readonly slot: number;
  readonly waitingRequests: number;
}

interface PickerMessage {
  readonly hello: { readonly version: number } | null;
  readonly removed: readonly number[];
  readonly endpoints: readonly Endpoint[];
  readonly events: readonly {
    readonly id: string;
    readonly routed?: { readonly slot: number };
    readonly done?: object;
  }[];
  readonly requests: readonly { readonly id: string; readonly candidates: readonly number[] }[];
}

/** Serves one stream of one picker. The state lasts as long as the stream. */
function run(stream: ServerDuplexStream<PickerMessage, object>): void {
  const endpoints = new Map<number, Endpoint>();
  const inFlight = new Map<number, number>();
  const slotOf = new Map<string, number>();
  const add = (slot: number, change: number) =>
    void inFlight.set(slot, Math.max(0, (inFlight.get(slot) ?? 0) + change));

  stream.on('data', ({ hello, removed, endpoints: changed, events, requests }: PickerMessage) => {
    if (hello !== null) {
      if (hello.version !== 1) {
        stream.destroy(Object.assign(new Error('version'), { code: status.FAILED_PRECONDITION }));
        return;
      }
      const wants = { wantsEndpoints: true, wantsEvents: true };
      stream.write({ welcome: { version: 1, name: 'least-loaded-ts', ...wants } });
    }
    for (const slot of removed) {
      endpoints.delete(slot);
      inFlight.delete(slot);
    }
    for (const endpoint of changed) endpoints.set(endpoint.slot, endpoint);
    for (const { id, routed, done } of events) {
      if (routed !== undefined) {
        slotOf.set(id, routed.slot);
        add(routed.slot, 1);
      } else if (done !== undefined) {
        const slot = slotOf.get(id);
        if (slotOf.delete(id) && slot !== undefined) add(slot, -1);
      }
    }
    // Spreads the requests of a message over endpoints: none of them has been routed yet.
    const assigned = new Map<number, number>();
    const loadOf = (slot: number): number =>
      (inFlight.get(slot) ?? 0) +
      (assigned.get(slot) ?? 0) +
      (endpoints.get(slot)?.waitingRequests ?? 0);
    const decisions = requests.map(({ id, candidates }) => {
      const slots = candidates.length === 0 ? [...endpoints.keys()] : [...candidates];
      const targets = slots
        .map((slot) => ({ slot, score: -loadOf(slot) }))
        .toSorted((a, b) => b.score - a.score)
        .slice(0, 4);
      const best = targets[0]?.slot;
      if (best !== undefined) assigned.set(best, (assigned.get(best) ?? 0) + 1);
      return { id, targets };
    });
    if (decisions.length > 0) stream.write({ decisions });
  });
  stream.on('end', () => stream.end());
  stream.on('error', () => undefined);
}

const definition = loadSync(PROTO, { longs: Number, enums: String, defaults: true });
const { pointsman } = loadPackageDefinition(definition) as unknown as {
  readonly pointsman: {
    readonly scheduler: { readonly v1: { readonly Scheduler: ServiceClientConstructor } };
  };
};
const server = new Server();
server.addService(pointsman.scheduler.v1.Scheduler.service, { Run: run });
const address = process.argv[2] ?? '127.0.0.1:9100';
// Removes the socket of an earlier run.
if (address.startsWith('unix:')) rmSync(address.slice('unix:'.length), { force: true });
server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`listening on ${address.startsWith('unix:') ? address : `port ${port}`}\n`);
});
