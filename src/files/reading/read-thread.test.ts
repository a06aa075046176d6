import { afterEach, describe, expect, it } from 'vitest';
import { parseEndpoints } from '../../endpoints/discovery/file/parse-endpoints.ts';
import { ConfigError } from '../../framework/error.ts';
import { oneAtATime } from '../following/one-at-a-time.ts';
import { readAside } from './read-thread.ts';

const PROGRAM = 'src/endpoints/discovery/file/endpoints-thread';

function list(count: number): string {
  const line = (n: number): string =>
    `- {name: pod-${n}, address: 10.0.${n >> 8}.${n & 255}, port: 8000, labels: {zone: a}}\n`;
  return `endpoints:\n${Array.from({ length: count }, (_, n) => line(n)).join('')}`;
}

const read = (text: string): ReturnType<typeof readAside<ReturnType<typeof parseEndpoints>>> =>
  readAside(PROGRAM, parseEndpoints, { text, source: 'pool.yaml' });

describe('[V361] a long file that is read while the program serves', () => {
  let turns = 0;
  let turn: NodeJS.Immediate | undefined;
  const count = (): void => {
    turns += 1;
    turn = setImmediate(count);
  };
  afterEach(() => clearImmediate(turn));

  it('lets the event loop go on, and is read as it is elsewhere', async () => {
    turns = 0;
    turn = setImmediate(count);
    const text = list(1000);
    const aside = await read(text);
    expect(turns).toBeGreaterThan(0);
    expect(aside).toEqual(parseEndpoints(text, 'pool.yaml'));
  });

  it('is refused with the same errors', async () => {
    const text = list(1000).replace('port: 8000', 'port: 0');
    const error: unknown = await read(text).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toContain('pool.yaml');
    expect((error as ConfigError).issues).toEqual([
      {
        path: 'line 2, column 36: endpoints[0].port',
        message: 'is 0: make it a port from 1 to 65535',
      },
    ]);
  });

  it('is refused where its thread ends', async () => {
    const text = list(1000);
    const given = { text, source: 'pool.yaml' };
    await expect(readAside('src/no-such-thread', parseEndpoints, given)).rejects.toThrow(
      'cannot be read',
    );
  });
});

describe('changes that come while a file is read', () => {
  function setUp() {
    const runs: PromiseWithResolvers<'again' | 'done'>[] = [];
    const gaps: PromiseWithResolvers<void>[] = [];
    const next =
      <T>(list: PromiseWithResolvers<T>[]) =>
      () => {
        const one = Promise.withResolvers<T>();
        list.push(one);
        return one.promise;
      };
    const change = oneAtATime(next(runs), next(gaps));
    return { change, runs, gaps };
  }
  const turn = (): Promise<unknown> => new Promise(setImmediate);

  it('[V361] are read once more, after it', async () => {
    const { change, runs, gaps } = setUp();
    for (let n = 0; n < 3; n++) change();
    expect(runs).toHaveLength(1);
    runs[0]?.resolve('done');
    await turn();
    gaps[0]?.resolve();
    await turn();
    expect(runs).toHaveLength(2);
    runs[1]?.resolve('done');
    await turn();
    gaps[1]?.resolve();
    await turn();
    expect(runs).toHaveLength(2);
    change();
    expect(runs).toHaveLength(3);
  });

  it('[V416] however many come in the second after it, are read once', async () => {
    const { change, runs, gaps } = setUp();
    change();
    runs[0]?.resolve('done');
    await turn();
    for (let n = 0; n < 10; n++) change();
    await turn();
    expect(runs).toHaveLength(1);
    gaps[0]?.resolve();
    await turn();
    expect(runs).toHaveLength(2);
  });

  it('[V553] and nothing more, are read again after a second where the system failed', async () => {
    const { change, runs, gaps } = setUp();
    change();
    runs[0]?.resolve('again');
    await turn();
    expect(runs).toHaveLength(1);
    gaps[0]?.resolve();
    await turn();
    expect(runs).toHaveLength(2);
    runs[1]?.resolve('done');
    await turn();
    gaps[1]?.resolve();
    await turn();
    expect(runs).toHaveLength(2);
  });
});
