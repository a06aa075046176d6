import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type NatsServer, startNatsServer } from '../../bench/support/nats-server.ts';
import type { OpenReplicaLink } from '../../src/replicas/links/link.ts';
import { natsLink } from '../../src/replicas/links/nats/nats-link.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { sendToTwoPickers } from './tenants-at-pickers.ts';

/** Flow control at two pickers that are connected to a real NATS server. */

/** Until the pickers have found each other for sure, and then. */
const [BEFORE, COUNTED] = [120, 300];
let server: NatsServer;

beforeAll(async () => {
  server = await startNatsServer();
}, 330_000);
afterAll(() => server.kill());

/** The share of each tenant: of the one that sends to both pickers first. */
async function sharesOf(subjects: readonly string[]): Promise<readonly number[]> {
  const openLinks: readonly OpenReplicaLink[] = subjects.map((subject) =>
    natsLink({ servers: server.url, subject, key: undefined }),
  );
  const tenants = sendToTwoPickers('vtc-fairness-policy', { clock: nodeClock(), openLinks });
  const sum = (): number => tenants.placed().reduce((total, each) => total + each, 0);
  const until = (placed: number): Promise<void> =>
    vi.waitFor(() => expect(sum()).toBeGreaterThan(placed), { timeout: 60_000, interval: 20 });
  await until(BEFORE);
  const [sumBefore, before] = [sum(), tenants.placed()];
  await until(sumBefore + COUNTED);
  const counted = sum() - sumBefore;
  const shares = tenants.placed().map((placed, n) => (placed - (before[n] ?? 0)) / counted);
  tenants.stop();
  return shares;
}

// They wait for each other's requests, which are served in real time.
describe.concurrent('two pickers with flow control', () => {
  it('[O177] tenants get equal shares, whichever of the pickers they send to', async () => {
    for (const share of await sharesOf(['t.shared', 't.shared'])) {
      expect(Math.abs(share - 1 / 3)).toBeLessThan(0.08);
    }
  });

  it('[O177] a tenant that sends to both gets twice as much, where they do not share', async () => {
    const [both = 0] = await sharesOf(['t.one', 't.two']);
    expect(Math.abs(both - 1 / 2)).toBeLessThan(0.08);
  });
});
