import { describe, expect, it } from 'vitest';
import { engineAddresses } from './engine-addresses.ts';
import { stubOptions } from './stub-options.ts';

const options = (given: object) => stubOptions.parse({ port: 8000, ...given });
const described = (each: readonly ReturnType<typeof options>[]): readonly string[] =>
  engineAddresses(each).map(({ server, rank, host, port }) => `${server}.${rank} ${host}:${port}`);

describe('engineAddresses', () => {
  it('puts servers on consecutive ports, each with its ranks', () => {
    const [one, two] = [options({}), options({ dataParallelSize: 2 })];
    expect(described([one, two, one])).toEqual([
      '0.0 127.0.0.1:8000',
      '1.0 127.0.0.1:8001',
      '1.1 127.0.0.1:8002',
      '2.0 127.0.0.1:8003',
    ]);
  });

  it('gives each server an address of its own where described so', () => {
    const each = options({ spread: 'addresses', host: '127.0.0.255', dataParallelSize: 2 });
    expect(described([each, each])).toEqual([
      '0.0 127.0.0.255:8000',
      '0.1 127.0.0.255:8001',
      '1.0 127.0.1.0:8000',
      '1.1 127.0.1.0:8001',
    ]);
  });

  it('[B258] gives engines behind one port consecutive ports for their KV events', () => {
    const places = engineAddresses([options({ engines: 2 }), options({ engines: 2 })]);
    expect(places.map(({ port, portOffset }) => [port, portOffset])).toEqual([
      [8000, 0],
      [8000, 1],
      [8001, 2],
      [8001, 3],
    ]);
  });

  it('takes free ports for 0', () => {
    expect(described([options({ port: 0 }), options({ port: 0 })])).toEqual([
      '0.0 127.0.0.1:0',
      '1.0 127.0.0.1:0',
    ]);
  });

  it.each([
    [{ spread: 'addresses', host: 'localhost' }, /host/],
    [{ dataParallelSize: 9 }, /dataParallelSize/],
    [{ speed: 20 }, /virtual clock/],
  ])('refuses %j', (given, message) => {
    expect(() => options(given)).toThrow(message);
  });
});
