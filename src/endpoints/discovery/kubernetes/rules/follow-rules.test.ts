import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../../bench/support/stack.ts';
import { openAccess } from '../../../../../test/support/kubernetes/open-access.ts';
import { UNPACED } from '../../../../../test/support/kubernetes/unpaced.ts';
import { UnsteadyClock } from '../../../../../test/support/unsteady-clock.ts';
import type { Clock } from '../../../../framework/runtime.ts';
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

/** An API server with both groups, and what of it may be listed. */
async function withBothGroups(
  isAllowed: (group: string, verb: 'list' | 'watch') => boolean,
  versions: readonly string[] = ['v1', 'v1alpha2'],
): Promise<string> {
  server = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://api');
    const [, , group = '', version = '', , , plural] = pathname.split('/');
    const has = group === 'llm-d.ai' ? versions.includes(version) : version === 'v1alpha2';
    const names = ['inferenceobjectives', 'inferencemodelrewrites'];
    const send = (code: number, body: object): void => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (!has) send(404, { kind: 'Status', code: 404 });
    else if (plural === undefined) send(200, { resources: names.map((name) => ({ name })) });
    else if (!isAllowed(group, searchParams.has('watch') ? 'watch' : 'list'))
      send(403, { kind: 'Status', code: 403, message: 'forbidden' });
    // A watch in which nothing happens.
    else if (searchParams.has('watch')) response.writeHead(200).flushHeaders();
    else {
      const items = plural === 'inferenceobjectives' ? [objective(group, version)] : [];
      send(200, { metadata: { resourceVersion: '1' }, items });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const objective = (group: string, version: string): object => ({
  metadata: { name: group === 'llm-d.ai' ? 'current' : 'former', uid: group },
  spec:
    version === 'v1'
      ? { poolRefs: [{ group: 'g', name: 'pool' }], priority: 7 }
      : { poolRef: { group: 'g', name: 'pool' }, priority: 7 },
});

function follow(server: string) {
  return followBy(new SimulatedClock(), server);
}

function followBy<Time extends Clock>(clock: Time, server: string) {
  const troubles: string[] = [];
  const reported = Promise.withResolvers<void>();
  let settled = 0;
  const rules = new RequestRules(seededRandom(1));
  const follower = followRules({
    server: { access: openAccess(server), pace: UNPACED },
    pool: { namespace: 'n', name: 'pool', group: 'g', version: 'v1' },
    rules,
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
  return { clock, rules, follower, troubles, reported: reported.promise, settled: () => settled };
}

/** Timers fire at their times; what they ask for comes over real sockets, in real time. */
async function passSecond(clock: SimulatedClock): Promise<void> {
  const until = clock.now() + 1000;
  await clock.run(until);
  clock.advanceTo(until);
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

  it('[V574] are settled once all threads that read requests have adopted them', async () => {
    const address = await forbidding();
    for (const stops of [false, true]) {
      const { rules, follower, reported, settled } = follow(address);
      const whenAdopted: (() => void)[] = [];
      rules.readBy({
        refresh: () => undefined,
        whenAdopted: (then) => void whenAdopted.push(then),
      });
      await reported;
      expect([settled(), whenAdopted.length]).toEqual([0, 1]);
      if (stops) follower.stop();
      whenAdopted[0]?.();
      expect(settled()).toBe(stops ? 0 : 1);
      follower.stop();
    }
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

  it('[V585] that come while the process stands still are not begun without', async () => {
    const clock = new UnsteadyClock(seededRandom(1));
    clock.pace = 'still';
    const { follower, reported, settled } = followBy(clock, await forbidding());
    clock.pass(60_000);
    clock.advanceBy(0);
    expect(settled()).toBe(0);
    await reported;
    expect(settled()).toBe(1);
    follower.stop();
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['[D557]', 'both versions', ['v1', 'v1alpha2']],
    ['[D601]', 'v1 alone', ['v1']],
  ])(
    '%s are those of the former group while only these may be listed, and the current one has %s',
    async (_id, _what, versions) => {
      const allowed = new Set(['inference.networking.x-k8s.io']);
      const followed = follow(await withBothGroups((group) => allowed.has(group), versions));
      const { clock, rules, follower, troubles } = followed;
      const names = (): string => [...rules.priorities.keys()].join();
      // Edits are read at most once a second.
      const soon = async (): Promise<string> => {
        await passSecond(clock);
        return names();
      };
      await eventually(soon, (found) => found === 'former', 400);
      const right = 'give the picker’s service account a Role with list and watch on it';
      const until = 'until then those of inference.networking.x-k8s.io count';
      expect(troubles.toSorted()).toEqual([
        `not allowed to list inferencemodelrewrites.llm-d.ai in namespace n: ${right}; ${until}`,
        `not allowed to list inferenceobjectives.llm-d.ai in namespace n: ${right}; ${until}`,
      ]);
      await eventually(
        () => follower.synced && followed.settled() === 1,
        (is) => is,
      );
      allowed.clear();
      const left = async (): Promise<string> => {
        await passSecond(clock);
        return follower.troubles.join();
      };
      await eventually(left, (sentences) => !sentences.includes(until), 400);
      expect(follower.troubles).toHaveLength(2);
      allowed.add('llm-d.ai');
      const later = async (): Promise<string> => {
        await passSecond(clock);
        return names();
      };
      await eventually(later, (found) => found === 'current', 400);
      const untroubled = async (): Promise<string> => {
        await passSecond(clock);
        return follower.troubles.join();
      };
      await eventually(untroubled, (sentences) => sentences === '', 400);
      follower.stop();
    },
  );

  it('[V616] of the former group that may be listed and not watched give way to those of the current one once these may be', async () => {
    let right = 'none of the current group';
    const address = await withBothGroups((group, verb) =>
      right === 'all of the current group'
        ? group === 'llm-d.ai'
        : group !== 'llm-d.ai' && verb === 'list',
    );
    const { clock, rules, follower } = follow(address);
    const soon = async (): Promise<string> => {
      await passSecond(clock);
      return [...rules.priorities.keys()].join();
    };
    await eventually(soon, (found) => found === 'former', 400);
    right = 'all of the current group';
    await eventually(soon, (found) => found === 'current', 400);
    follower.stop();
  });
});
