import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import {
  LeaderElection,
  type Lease,
  type LeaseRecord,
  LeaseRefusedError,
  type LeaseStore,
} from './leader-election.ts';

/** One Lease on a small API server: versions, and each caller's connection to it. */
class FakeServer {
  lease: Lease | undefined;
  readonly #clock: SimulatedClock;
  #version = 0;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  /** `silent`: requests are lost. `deaf`: requests arrive and the answers are lost. */
  connection(): LeaseStore & { state: 'up' | 'away' | 'silent' | 'deaf' | 'refusing' } {
    const answer = <T>(make: () => T): Promise<T> => {
      if (connection.state === 'away') return Promise.reject(new Error('connection refused'));
      if (connection.state === 'refusing')
        return Promise.reject(new LeaseRefusedError('forbidden'));
      return new Promise((resolve) => {
        if (connection.state === 'silent') return;
        this.#clock.setTimer(5, () => {
          const made = make();
          if (connection.state !== 'deaf') resolve(made);
        });
      });
    };
    const connection: ReturnType<FakeServer['connection']> = {
      state: 'up',
      read: () => answer(() => this.lease),
      write: (record, before) => answer(() => this.#write(record, before)),
    };
    return connection;
  }

  /** As `kubectl label` does. */
  touch(): void {
    this.#version += 1;
    this.lease = this.lease && { ...this.lease, version: String(this.#version) };
  }

  #write(record: LeaseRecord, before: Lease | undefined): Lease | undefined {
    if (this.lease?.version !== before?.version) return undefined;
    this.#version += 1;
    this.lease = { ...record, version: String(this.#version) };
    return this.lease;
  }
}

function candidates(count: number, seed = 1) {
  const clock = new SimulatedClock();
  const server = new FakeServer(clock);
  const troubles: string[] = [];
  const all = Array.from({ length: count }, (_, at) => {
    const connection = server.connection();
    const changes: boolean[] = [];
    const election = new LeaderElection({
      store: connection,
      identity: `picker-${at}`,
      clock,
      random: seededRandom(seed + at),
      onChange: (leading) => void changes.push(leading),
      onTrouble: (sentence) => void troubles.push(sentence),
    });
    return { connection, election, changes };
  });
  const leaders = () => all.flatMap(({ election }, at) => (election.leading ? [at] : []));
  return { clock, server, all, leaders, troubles };
}

/** A candidate that must exist. */
function the<T>(all: readonly T[], at = 0): T {
  const found = all[at];
  if (found === undefined) throw new Error(`no candidate ${at}`);
  return found;
}

describe('LeaderElection', () => {
  it('has one leader, whose name the others have', async () => {
    const { clock, all, leaders } = candidates(3);
    await clock.run(60_000);
    expect(leaders()).toHaveLength(1);
    const holder = `picker-${leaders()[0]}`;
    expect(all.map(({ election }) => election.holder)).toEqual([holder, holder, holder]);
    expect(all.flatMap(({ changes }) => changes)).toEqual([true]);
  });

  it('elects another when the leader has disappeared, once the lease has expired', async () => {
    const { clock, server, all, leaders } = candidates(2);
    await clock.run(60_000);
    const dead = the(leaders());
    // A process that is killed: it never writes again.
    the(all, dead).connection.state = 'silent';
    const lastSeen = clock.now();
    await clock.run(lastSeen + 12_000);
    expect(server.lease?.holder).toBe(`picker-${dead}`);
    await clock.run(lastSeen + 20_000);
    expect(server.lease?.holder).toBe(`picker-${1 - dead}`);
    expect(server.lease?.transitions).toBe(1);
  });

  it('releases the lease when it stops, and another leads at its next turn', async () => {
    const { clock, all, leaders } = candidates(2);
    await clock.run(60_000);
    const first = the(leaders());
    const stopped = the(all, first).election.stop();
    await clock.run(clock.now() + 2_500);
    await stopped;
    expect(leaders()).toEqual([1 - first]);
  });

  it('stays the leader while the API server is away and when it is back', async () => {
    const { clock, all, leaders, troubles } = candidates(3);
    await clock.run(60_000);
    const before = leaders();
    for (const { connection } of all) connection.state = 'away';
    await clock.run(clock.now() + 300_000);
    expect(leaders()).toEqual(before);
    // The others come first.
    for (const { connection, election } of all) if (!election.leading) connection.state = 'up';
    await clock.run(clock.now() + 5_000);
    for (const { connection } of all) connection.state = 'up';
    await clock.run(clock.now() + 60_000);
    expect(leaders()).toEqual(before);
    expect(troubles).toEqual(Array(3).fill('connection refused'));
  });

  it('stops leading as soon as it sees another holder, after it alone was cut off', async () => {
    const { clock, all, leaders } = candidates(2);
    await clock.run(60_000);
    const first = the(leaders());
    the(all, first).connection.state = 'away';
    await clock.run(clock.now() + 30_000);
    expect(leaders()).toEqual([0, 1]);
    the(all, first).connection.state = 'up';
    await clock.run(clock.now() + 2_500);
    expect(leaders()).toEqual([1 - first]);
    expect(the(all, first).changes).toEqual([true, false]);
  });

  it('gives up before another may begin when the server refuses it', async () => {
    const { clock, server, all, leaders } = candidates(2);
    await clock.run(60_000);
    const first = the(leaders());
    the(all, first).connection.state = 'refusing';
    const refusedAt = clock.now();
    await clock.run(refusedAt + 12_400);
    expect(leaders()).toEqual([]);
    expect(server.lease?.holder).toBe(`picker-${first}`);
    await clock.run(refusedAt + 20_000);
    expect(leaders()).toEqual([1 - first]);
  });

  it('does not wait for ever for an answer', async () => {
    const { clock, all, troubles } = candidates(1);
    const { connection, election } = the(all);
    connection.state = 'silent';
    await clock.run(5_000);
    expect(troubles).toEqual(['the API server has not answered within 4000 ms']);
    connection.state = 'up';
    await clock.run(10_000);
    expect([election.leading, election.trouble]).toEqual([true, undefined]);
  });

  it('creates a deleted lease again, and stays the leader when the lease only gets a label', async () => {
    const { clock, server, all } = candidates(1);
    await clock.run(30_000);
    server.lease = undefined;
    await clock.run(40_000);
    expect(server.lease).toMatchObject({ holder: 'picker-0' });
    for (let at = 40_000; at < 60_000; at += 3) {
      server.touch();
      await clock.run(at);
    }
    await clock.run(80_000);
    expect(the(all).changes).toEqual([true]);
  });

  it('never has two leaders that reach the server, for any faults of connections, and one in the end', async () => {
    const states = fc.constantFrom('up', 'away', 'silent', 'deaf', 'refusing');
    const step = fc.tuple(fc.nat({ max: 3 }), states, fc.integer({ min: 1, max: 20_000 }));
    const steps = fc.array(step, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, fc.nat({ max: 1e6 }), async (plan, seed) => {
        const { clock, all, leaders } = candidates(4, seed);
        /** Since when each candidate has been connected without a break. */
        const upSince = [0, 0, 0, 0];
        for (const [at, state, forMs] of plan) {
          const { connection } = the(all, at);
          if (connection.state !== 'up' && state === 'up') upSince[at] = clock.now();
          connection.state = state;
          await clock.run(clock.now() + forMs);
          // A candidate that is connected again needs a turn and its answers to see who leads.
          const settled = leaders().filter(
            (leader) =>
              the(all, leader).connection.state === 'up' &&
              clock.now() - (upSince[leader] ?? 0) > 6_500,
          );
          expect(settled.length).toBeLessThan(2);
        }
        for (const { connection } of all) connection.state = 'up';
        await clock.run(clock.now() + 60_000);
        expect(leaders()).toHaveLength(1);
      }),
      { numRuns: 200, seed: 20_261_121 },
    );
  });
});
