import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DnsServer, startDnsServer } from '../../../test/support/servers/dns-server.ts';
import { NameResolver } from './name-resolver.ts';

describe('NameResolver', () => {
  let server: DnsServer;
  let resolver: NameResolver;

  beforeAll(async () => {
    server = await startDnsServer();
    server.names.set('pods.example', { ttlS: 7, a: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] });
    server.names.set('both.example', { a: ['10.0.0.1'], aaaa: ['fd00:0:0:0:0:0:0:1'] });
    server.names.set('six.example', {
      ttlS: 3,
      aaaa: ['fd00:0:0:0:0:0:0:1', 'fd00:0:0:0:0:0:0:2'],
    });
    server.names.set('empty.invalid', {});
    server.names.set('broken.invalid', { fails: true });
    resolver = new NameResolver({ servers: [server.address] });
  });

  afterAll(async () => {
    resolver.close();
    await server.stop();
  });

  it('[V45] gives all addresses of a name, and how long the answer holds', async () => {
    const { addresses, ttlMs } = await resolver.resolve('pods.example');
    expect(addresses.toSorted()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    expect(ttlMs).toBe(7000);
  });

  it('[V45] gives IPv6 addresses only where there are no others: no server counts twice', async () => {
    expect(await resolver.resolve('both.example')).toMatchObject({ addresses: ['10.0.0.1'] });
    const { addresses, ttlMs } = await resolver.resolve('six.example');
    expect(addresses.toSorted()).toEqual(['fd00::1', 'fd00::2']);
    expect(ttlMs).toBe(3000);
  });

  it('[V45] finds names of the hosts file, which say nothing of time', async () => {
    const { addresses, ttlMs } = await resolver.resolve('localhost');
    expect(['127.0.0.1', '::1']).toContain(addresses[0]);
    expect(addresses).toHaveLength(1);
    expect(ttlMs).toBeUndefined();
  });

  it.each(['nosuch.invalid', 'empty.invalid', 'broken.invalid'])(
    '[V46] rejects for %s with an error that names it',
    async (name) => {
      await expect(resolver.resolve(name)).rejects.toThrow(name);
    },
  );
});
