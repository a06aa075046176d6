import { expect, it } from 'vitest';
import { UnsteadyClock } from '../../../test/support/unsteady-clock.ts';
import type { ResolvedName } from '../../framework/runtime.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { HostAddresses } from './host-addresses.ts';

const logged: string[] = [];
const log = (line: string): void => void logged.push(line);

it('[B66] hosts have the addresses of the moment, and keep the last one while none is found', async () => {
  const clock = new SimulatedClock();
  let address: string | undefined = '10.0.0.1';
  const asked: string[] = [];
  const resolve = async (name: string): Promise<ResolvedName> => {
    asked.push(name);
    if (address === undefined) throw new Error('no server answers');
    return { addresses: [address, '10.9.9.9'], ttlMs: undefined };
  };
  const hosts = await HostAddresses.follow(['pod-0', '10.0.0.7'], { resolve, clock, log });
  expect(hosts.current()).toEqual(['10.0.0.1', '10.0.0.7']);
  for (const [next, expected] of [
    ['10.0.0.2', '10.0.0.2'],
    [undefined, '10.0.0.2'],
    ['10.0.0.3', '10.0.0.3'],
  ]) {
    address = next;
    clock.advanceTo(clock.now() + 10_000);
    await new Promise((done) => void setImmediate(done));
    expect(hosts.current()).toEqual([expected, '10.0.0.7']);
  }
  expect(logged).toEqual(['pod-0 keeps its last address: no server answers']);
  hosts.stop();
  clock.advanceTo(clock.now() + 60_000);
  expect(asked).toEqual(['pod-0', 'pod-0', 'pod-0', 'pod-0']);
});

it('[V597] no host is looked up after the end, also where it ends while one is', async () => {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const asked: string[] = [];
  const resolve = async (name: string): Promise<ResolvedName> => {
    asked.push(name);
    if (asked.length > 2) await new Promise<void>((done) => void clock.setTimer(50, done));
    return { addresses: ['10.0.0.1'], ttlMs: undefined };
  };
  const hosts = await HostAddresses.follow(['pod-0', 'pod-1'], { resolve, clock, log });
  await clock.runFor(10_020);
  hosts.stop();
  await clock.runFor(60_000);
  expect(asked).toEqual(['pod-0', 'pod-1', 'pod-0']);
  expect(clock.pending).toBe(0);
});

it('[B66] a host that cannot be looked up at the start is an error', async () => {
  const resolve = (): Promise<ResolvedName> => Promise.resolve({ addresses: [], ttlMs: undefined });
  const following = HostAddresses.follow(['pod-0'], { resolve, clock: new SimulatedClock(), log });
  await expect(following).rejects.toThrow('has no address');
});
