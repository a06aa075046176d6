import { afterAll, beforeAll } from 'vitest';
import { type StubOptions, stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';

/** A pool of stubs for all tests of a file, ten times faster than life. */
export function stubPoolForTests(options: Partial<StubOptions> = {}): {
  readonly pool: () => StubPool;
  readonly url: (path: string, server?: number) => string;
} {
  let pool: StubPool | undefined;
  const started = (): StubPool => {
    if (pool === undefined) throw new Error('the pool has not started');
    return pool;
  };
  beforeAll(async () => {
    pool = await startStubPool(
      stubOptions.parse({ count: 1, port: 0, speed: 10, model: 'm', ...options }),
    );
  });
  afterAll(async () => {
    await pool?.stop();
  });
  return {
    pool: started,
    url: (path, server = 0) => `http://${started().endpoints[server]?.address ?? ''}${path}`,
  };
}
