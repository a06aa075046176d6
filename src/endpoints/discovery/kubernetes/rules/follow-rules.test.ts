import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { openAccess } from '../../../../../test/support/kubernetes/open-access.ts';
import { UNPACED } from '../../../../../test/support/kubernetes/unpaced.ts';
import { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import { RequestRules } from '../../../rewrites/request-rules.ts';
import { followRules } from './follow-rules.ts';

let server: Server | undefined;
afterEach(() => void server?.close());

/** Both kinds are installed in their older version, and may not be listed. */
async function forbidding(): Promise<string> {
  server = createServer(({ url = '' }, response) => {
    const names = ['inferenceobjectives', 'inferencemodelrewrites'];
    const discovery = url.endsWith('/v1alpha2');
    const isNewer = url.endsWith('/v1');
    response.statusCode = discovery ? 200 : isNewer ? 404 : 403;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(
        discovery
          ? { kind: 'APIResourceList', resources: names.map((name) => ({ name })) }
          : { kind: 'Status', code: 403, message: 'forbidden' },
      ),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function follow(server: string) {
  const troubles: string[] = [];
  const clock = new SimulatedClock();
  const reported = Promise.withResolvers<void>();
  let settled = 0;
  const follower = followRules({
    server: { access: openAccess(server), pace: UNPACED },
    pool: { namespace: 'n', name: 'pool', group: 'g', version: 'v1' },
    rules: new RequestRules(seededRandom(1)),
    clock,
    random: seededRandom(1),
    onSettled: () => {
      settled += 1;
    },
    onTrouble: (sentence) => {
      troubles.push(sentence);
      if (troubles.length === 2) reported.resolve();
    },
  });
  return { clock, follower, troubles, reported: reported.promise, settled: () => settled };
}

describe('the rules of an API server', () => {
  it('that may not be listed are settled at once, reported once with what to do, and not synced', async () => {
    const { follower, troubles, reported, settled } = follow(await forbidding());
    expect(settled()).toBe(0);
    await reported;
    expect([settled(), follower.synced]).toEqual([1, false]);
    const remedy = 'give the picker’s service account a Role with list and watch on it';
    expect(troubles.toSorted()).toEqual([
      `not allowed to list inferencemodelrewrites.llm-d.ai in namespace n: ${remedy}`,
      `not allowed to list inferenceobjectives.llm-d.ai in namespace n: ${remedy}`,
    ]);
    expect(follower.troubles.toSorted()).toEqual(troubles.toSorted());
    follower.stop();
  });

  it('that cannot be reached are waited for, but not for ever', async () => {
    const address = await forbidding();
    server?.close();
    const { clock, follower, reported, settled } = follow(address);
    await reported;
    expect([settled(), follower.synced]).toEqual([0, false]);
    await clock.run(29_999);
    expect(settled()).toBe(0);
    await clock.run(60_000);
    expect(settled()).toBe(1);
    follower.stop();
  });
});
