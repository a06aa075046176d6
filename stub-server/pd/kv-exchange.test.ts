import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { KvExchange } from './kv-exchange.ts';
import { KV_LINK_DEFAULT, KvFabric, KvPort } from './kv-fabric.ts';

function setUp(): {
  readonly clock: SimulatedClock;
  readonly exchange: KvExchange;
  readonly port: KvPort;
  readonly log: string[];
  readonly fetch: (key: string, patient?: boolean) => void;
  readonly complete: (key: string) => void;
} {
  const clock = new SimulatedClock();
  const exchange = new KvExchange(clock, new KvFabric(clock));
  const port = new KvPort({ ...KV_LINK_DEFAULT, setupMs: 5 });
  const to = new KvPort(KV_LINK_DEFAULT);
  const log: string[] = [];
  const say = (what: string) => (): void => void log.push(`${Math.round(clock.now())} ${what}`);
  return {
    clock,
    exchange,
    port,
    log,
    fetch: (key, patient = true) =>
      exchange.fetch(key, { tokens: 0, to, ready: say('ready'), fail: say('fail') }, { patient }),
    complete: (key) => exchange.complete(key, say('released')),
  };
}

describe('the exchange of KV', () => {
  it('sends what is there, and then gives the blocks back', async () => {
    const { clock, exchange, port, log, fetch, complete } = setUp();
    exchange.begin('a', port);
    complete('a');
    expect(exchange.heldBy(port)).toBe(1);
    fetch('a');
    await clock.run(1000);
    expect(log).toEqual(['5 released', '5 ready']);
    expect(exchange.heldBy(port)).toBe(0);
  });

  it('lets a decode leg wait for a prefill leg that is under way, or that has not come yet', async () => {
    const { clock, exchange, port, log, fetch, complete } = setUp();
    fetch('a');
    exchange.begin('b', port);
    fetch('b', false);
    clock.setTimer(50, () => exchange.begin('a', port));
    clock.setTimer(100, () => complete('a'));
    clock.setTimer(200, () => complete('b'));
    await clock.run(1000);
    expect(log).toEqual(['105 released', '105 ready', '205 released', '205 ready']);
  });

  it('fails at once a pull that does not wait, for an unknown leg', async () => {
    const { clock, log, fetch } = setUp();
    fetch('a', false);
    await clock.run(1000);
    expect(log).toEqual(['0 fail']);
  });

  it('fails waiting pulls when the prefill leg is abandoned or does not come in time', async () => {
    const { clock, exchange, port, log, fetch } = setUp();
    exchange.begin('a', port);
    fetch('a');
    clock.setTimer(10, () => exchange.abandon('a'));
    fetch('b');
    await clock.run();
    expect(log).toEqual(['10 fail', '300000 fail']);
  });

  it('releases blocks that are never pulled', async () => {
    const { clock, exchange, port, log, fetch, complete } = setUp();
    exchange.begin('a', port);
    complete('a');
    await clock.run();
    expect(log).toEqual(['480000 released']);
    fetch('a', false);
    expect(log.at(-1)).toBe('480000 fail');
  });

  it('counts what is complete at one server, and does not abandon it', () => {
    const { exchange, port, complete } = setUp();
    exchange.begin('a', port);
    expect(exchange.heldBy(port)).toBe(0);
    complete('a');
    exchange.abandon('a');
    expect(exchange.heldBy(port)).toBe(1);
    expect(exchange.heldBy(new KvPort(KV_LINK_DEFAULT))).toBe(0);
  });

  it('loses with a crash what was held and what was on its way', async () => {
    const { clock, exchange, port, log, fetch, complete } = setUp();
    exchange.begin('a', port);
    complete('a');
    fetch('a');
    exchange.forget(port);
    await clock.run(1000);
    expect(log).toEqual(['0 released', '5 fail']);
  });
});
