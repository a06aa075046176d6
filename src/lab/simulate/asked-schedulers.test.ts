import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../files/folders.ts';
import type { CallOptions, Network } from '../../framework/runtime.ts';
import { simulatedPickerMaker } from '../../library/picker-maker.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { WholeSimulation } from '../run-summary/run-result.ts';
import type { Workload } from '../traces/workload.ts';
import { AskedSchedulers } from './asked-schedulers.ts';
import { readPool } from './pool-file.ts';
import { simulateAsking } from './simulate.ts';

const definitions = loadSync(packageFile('proto/pointsman/scheduler/v1/scheduler.proto'), {
  longs: Number,
  enums: String,
  defaults: true,
});
const { Run } = definitions['pointsman.scheduler.v1.Scheduler'] as ServiceDefinition;

interface Sent {
  readonly hello?: object | null;
  readonly removed: readonly number[];
  readonly endpoints: readonly { readonly slot: number }[];
  readonly events: readonly {
    readonly id: string;
    readonly routed?: { readonly slot: number };
    readonly done?: object;
  }[];
  readonly requests: readonly { readonly id: string }[];
}
const run: MethodDefinition<Sent, object> = Run as MethodDefinition<Sent, object>;

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const CONFIG = `${HEAD}scheduler: { type: remote, address: 'x:1' }\n`;
const POOL = readPool('servers: [{ count: 3, preset: study, jitter: 0 }]', 'pool.yaml');
const random = seededRandom(1);
const WORKLOAD: Workload = {
  blockTokens: 64,
  requests: Array.from({ length: 60 }, (_, index) => ({
    atMs: 30 * index,
    model: 'm',
    promptTokens: 200 + Math.floor(4000 * random.next()),
    outputTokens: 1 + Math.floor(80 * random.next()),
    blockIds: [],
  })),
};

interface Part {
  /** Turns of the event loop before each answer. */
  readonly turns?: number;
  /** The process ends when it is asked for the so-manieth time. */
  readonly endsAt?: number;
  /** It names no endpoint for every second request. */
  readonly hesitates?: boolean;
}

/** A process that sends each request where it knows of the fewest, and in turn among those. */
class LeastRequests {
  readonly #part: Part;
  readonly #options: CallOptions;
  readonly #inFlight = new Map<number, number>();
  readonly #slots = new Map<string, number>();
  #asked = 0;

  constructor(part: Part, options: CallOptions) {
    this.#part = part;
    this.#options = options;
  }

  async take({ hello, endpoints, events, requests }: Sent): Promise<void> {
    const { turns = 0, endsAt, hesitates } = this.#part;
    for (const { slot } of endpoints) {
      if (!this.#inFlight.has(slot)) this.#inFlight.set(slot, 0);
    }
    for (const { id, routed, done } of events) {
      if (routed) this.#count(this.#slots.set(id, routed.slot).get(id), 1);
      if (done) this.#count(this.#slots.get(id), -1);
    }
    for (let turn = 0; turn < turns; turn++) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    if (hello) this.#say({ welcome: { version: 1, name: 'least', ...WANTS } });
    for (const { id } of requests) {
      this.#asked += 1;
      if (this.#asked === endsAt) return this.#options.onClosed('it crashed');
      const [slot = 0] = [...this.#inFlight].toSorted((a, b) => a[1] - b[1])[0] ?? [];
      const none = hesitates === true && this.#asked % 2 === 0;
      this.#say({ decisions: [{ id, targets: none ? [] : [{ slot, score: 1 }] }] });
    }
  }

  #count(slot = 0, by = 0): void {
    this.#inFlight.set(slot, (this.#inFlight.get(slot) ?? 0) + by);
  }

  #say(message: object): void {
    this.#options.onMessage(run.responseSerialize(message));
  }
}

const WANTS = { wantsEndpoints: true, wantsEvents: true };

function networkWith(part: Part): Network {
  return {
    get: () => Promise.reject(new Error('no HTTP here')),
    openCall: (options) => {
      const scheduler = new LeastRequests(part, options);
      // One message after another, as a process reads its stream.
      let last = Promise.resolve();
      return {
        send: (bytes) => {
          const sent = run.requestDeserialize(Buffer.from(bytes));
          last = last.then(() => scheduler.take(sent));
        },
        waitingBytes: () => 0,
        close: () => undefined,
      };
    },
  };
}

async function simulated(part: Part): Promise<WholeSimulation> {
  const createPicker = await simulatedPickerMaker([]);
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve);
    });
  const asked = new AskedSchedulers({ network: networkWith(part), pause });
  const options = { workload: WORKLOAD, pool: POOL, config: CONFIG, createPicker, seed: 1 };
  return simulateAsking({ ...options, asked });
}

describe('a simulation whose scheduler is another process', () => {
  it('[G191] sends each request where the scheduler says, which knows what happened before', async () => {
    const { requests, scheduler } = await simulated({});
    expect(scheduler).toEqual({ decided: 60, declined: {} });
    const inFlight = (server: number, atMs: number): number =>
      requests.filter(
        (each) =>
          each.server === server &&
          each.request.atMs < atMs &&
          atMs < each.request.atMs + each.e2eMs,
      ).length;
    for (const { server, request } of requests) {
      const loads = [0, 1, 2].map((place) => inFlight(place, request.atMs));
      expect(loads[server]).toBe(Math.min(...loads));
    }
  });

  it('[G192] has the same result, byte for byte, from a scheduler that answers more slowly', async () => {
    const [fast, slow] = [await simulated({}), await simulated({ turns: 40 })];
    expect(JSON.stringify(slow)).toBe(JSON.stringify(fast));
  });

  it('[G193] says how many decisions were left to the profiles, and why', async () => {
    const { requests, scheduler } = await simulated({ hesitates: true });
    expect(scheduler).toEqual({ decided: 30, declined: { 'no-opinion': 30 } });
    expect(requests.every(({ completed }) => completed)).toBe(true);
  });

  it('[G194] fails where the scheduler ends before the simulation, or is not there', async () => {
    await expect(simulated({ endsAt: 20 })).rejects.toThrow(
      'scheduler: least ended the stream: it crashed',
    );
    await expect(simulated({ turns: 100_000 })).rejects.toThrow(
      'scheduler: x:1 cannot be reached (no Welcome): start it first',
    );
  });
});
