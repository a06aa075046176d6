import { describe, expect, it } from 'vitest';
import { listedServers, privateServers } from './allowed-servers.ts';

describe('the servers that a request may name', () => {
  it.each([
    '127.0.0.1:8000',
    '10.0.0.1:80',
    '172.31.255.1:8000',
    '192.168.1.1:1',
    '100.64.0.1:8000',
    '[::1]:8000',
    '[fd12::1]:65535',
    '[::ffff:10.0.0.1]:8000',
  ])('[V63] are those with private addresses without a list: %s', (server) => {
    expect(privateServers()(server)).toBe(true);
  });

  it.each([
    // Metadata servers of clouds.
    '169.254.169.254:80',
    '[::ffff:169.254.169.254]:80',
    '[fe80::1]:80',
    '[fd00:ec2::254]:80',
    '100.100.100.200:80',
    // The world outside.
    '8.8.8.8:80',
    '172.32.0.1:80',
    '[2001:db8::1]:80',
    '0.0.0.0:8000',
    // A name may change its address.
    'localhost:8000',
    'prefill.example:8000',
    // What is no host:port, or hides another one.
    '10.0.0.1',
    '10.0.0.1:0',
    '10.0.0.1:65536',
    '10.0.0.1:8000/evil',
    '10.0.0.1:80@8.8.8.8:80',
    '10.0.0.1:80#:80',
    '0x7f.1:80',
    '2130706433:80',
    '[10.0.0.1]:80',
    ' 10.0.0.1:80',
    '10.0.0.1:80\\n',
    '',
  ])('[V63] are no others: %j', (server) => {
    expect(privateServers()(server)).toBe(false);
  });

  it('[V63] are those of the list, where there is one', () => {
    const allowed = listedServers([
      'prefill-0.example:8000',
      '10.1.0.0/16',
      '8.8.8.8',
      'fd00::/64',
    ]);
    const named = [
      'prefill-0.example:8000',
      '10.1.255.1:1',
      '8.8.8.8:9',
      '[fd00::9]:8000',
      'prefill-0.example:8001',
      'prefill-1.example:8000',
      '10.2.0.1:1',
      '127.0.0.1:8000',
      '[fd00:0:0:1::9]:8000',
    ];
    expect(named.filter(allowed)).toEqual(named.slice(0, 4));
    expect(listedServers([])('10.0.0.1:80')).toBe(false);
  });

  it.each(['prefill', '10.0.0.0/33', '10.0.0.0/', 'fd00::/-1', '10.0.0.1:0', 'a b:80'])(
    'cannot be %j',
    (entry) => {
      expect(() => listedServers([entry])).toThrow(`${entry} is no host:port`);
    },
  );
});
