import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { type SharedPicker, startPicker } from '../../../test/replicas/pickers.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { SimulatedNetwork } from '../links/simulated-network.ts';

const ENDPOINTS = [0, 1, 2, 3];
const idOf = (n: number): EndpointId => `10.0.0.${n}:8000` as EndpointId;

/** Two or more replicas, and what the endpoints report each 100 ms. */
class World {
  readonly clock = new SimulatedClock();
  readonly network = new SimulatedNetwork({ clock: this.clock, delayMs: 1 });
  readonly pickers: SharedPicker[] = [];
  /** By endpoint. */
  readonly running = [0, 0, 0, 0];

  start(id: string, boot = 1): SharedPicker {
    const picker = startPicker(id, { clock: this.clock, openLink: this.network.open, boot });
    this.pickers.push(picker);
    return picker;
  }

  pass(seconds: number): void {
    for (let step = 0; step < 10 * seconds; step++) {
      for (const { picker } of this.pickers) {
        for (const n of ENDPOINTS) {
          const runningRequests = this.running[n] ?? 0;
          const sampledAt = this.clock.now();
          const metrics = { waitingQueueSize: 0, runningRequests, kvCacheUsage: 0, sampledAt };
          picker.pool.observe(idOf(n), metrics);
        }
      }
      this.clock.advanceTo(this.clock.now() + 100);
    }
  }
}

/** Says that it has so many requests at each endpoint, which it never sends. */
function claim({ picker }: SharedPicker, count: number): readonly RoutedRequest[] {
  const of = (endpoint: Endpoint, n: number): RoutedRequest => {
    const subset = [endpoint.address];
    const request = makeRequest({ id: `claim-${n}`, promptTokens: 100 });
    return picker.route(request, { firstTokenVisible: true, subset });
  };
  return picker.pool
    .snapshot()
    .flatMap((endpoint) => Array.from({ length: count }, (_, n) => of(endpoint, n)));
}

describe('what a replica claims', () => {
  it('[V371] counts no longer where the endpoint denies it for 20 s', () => {
    const world = new World();
    const own = world.start('own');
    const mad = world.start('mad');
    world.pass(1);
    claim(mad, 64);
    world.pass(10);
    expect(own.loads()).toEqual([64, 64, 64, 64]);
    world.pass(15);
    expect(own.loads()).toEqual([0, 0, 0, 0]);
    claim(mad, 64);
    world.pass(60);
    expect(own.loads()).toEqual([0, 0, 0, 0]);
    expect(own.notices).toContainEqual({ kind: 'doubted', peer: 'mad', address: idOf(2) });
  });

  it('[V371] does not count under another name either, and what others claim does', () => {
    const world = new World();
    const own = world.start('own');
    const mad = world.start('mad');
    const good = world.start('good');
    world.pass(1);
    claim(mad, 64);
    claim(good, 2);
    world.running.fill(2);
    world.pass(30);
    expect(own.loads()).toEqual([2, 2, 2, 2]);
    claim(world.start('mad-again'), 64);
    world.pass(2);
    expect(own.loads()).toEqual([2, 2, 2, 2]);
  });

  it('[V371] counts as long as the endpoint reports a part of it, or not what this picker sends', () => {
    const world = new World();
    const own = world.start('own');
    const good = world.start('good');
    world.pass(1);
    claim(good, 16);
    claim(own, 4);
    world.running.splice(0, 4, 4, 2, 0, 20);
    world.pass(60);
    expect(own.loads()).toEqual([20, 20, 20, 20]);
  });

  it('[V371] counts again after ten minutes', () => {
    const world = new World();
    const own = world.start('own');
    const mad = world.start('mad');
    world.pass(1);
    claim(mad, 3);
    world.pass(30);
    expect(own.loads()).toEqual([0, 0, 0, 0]);
    world.pass(620);
    claim(mad, 3);
    world.pass(1);
    expect(own.loads()).toEqual([3, 3, 3, 3]);
  });
});
