import { describe, expect, it } from 'vitest';
import { parseStaticEndpoints } from './static-discovery.ts';

it('[O273] names a port that is none, and its bounds', () => {
  expect(() => parseStaticEndpoints(['10.0.0.1:99999'])).toThrow(
    '"10.0.0.1:99999" has the port 99999, which is none: give one from 1 to 65535',
  );
});

it.each(['0.0.0.0:80', '[::]:80', '[0:0::0]:80'])(
  '[V622] refuses %s, which names no server, and says which address would',
  (text) => {
    expect(() => parseStaticEndpoints([text])).toThrow(
      `--endpoints[0]: ${text} is an address to listen on, and names no server: give the server’s own, such as 127.0.0.1`,
    );
  },
);

describe('parseStaticEndpoints', () => {
  it('[G302] has one spelling of an IPv6 address', () => {
    expect(parseStaticEndpoints(['[FD00:0::1]:8000'])).toMatchObject([
      { id: 'default/[fd00::1]:8000', address: '[fd00::1]:8000' },
    ]);
    expect(() => parseStaticEndpoints(['[fd00::1]:8000', '[fd00:0:0::1]:8000'])).toThrow(
      '--endpoints[1]: [fd00:0:0::1]:8000 is given twice; leave one of them',
    );
  });

  it('names endpoints by their address', () => {
    expect(parseStaticEndpoints(['10.0.0.1:8000', '[::1]:8001'])).toEqual([
      { id: 'default/10.0.0.1:8000', address: '10.0.0.1:8000', labels: new Map() },
      { id: 'default/[::1]:8001', address: '[::1]:8001', labels: new Map() },
    ]);
  });

  it('lists every problem at once', () => {
    expect(() => parseStaticEndpoints(['a:1', 'a', '::1:5', 'a:1'])).toThrow(
      [
        'command line:',
        '  --endpoints[1]: "a" is not host:port, such as 10.0.0.1:8000 or [fd00::1]:8000',
        '  --endpoints[2]: "::1:5" is not host:port, such as 10.0.0.1:8000 or [fd00::1]:8000',
        '  --endpoints[3]: a:1 is given twice; leave one of them',
      ].join('\n'),
    );
  });
});
