import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { ConfigError } from '../../../framework/error.ts';
import { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import { type Discovery, startFileDiscovery } from './file-discovery.ts';

let folder: string;
let pool: EndpointPool;
let discovery: Discovery | undefined;
let logged: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'endpoints-'));
  pool = new EndpointPool();
  logged = [];
});

afterEach(async () => {
  await discovery?.stop();
  discovery = undefined;
  rmSync(folder, { recursive: true });
});

const path = (): string => join(folder, 'endpoints.yaml');
const write = (text: string): void => writeFileSync(path(), text);
const ids = (): readonly string[] => pool.snapshot().map(({ id }) => id);

function list(...names: readonly string[]): string {
  const lines = names.map((name) => `- {name: ${name}, address: ${name}, port: 80}\n`);
  return names.length === 0 ? 'endpoints: []\n' : `endpoints:\n${lines.join('')}`;
}

async function start({
  watchFile = true,
  ...more
}: Partial<Parameters<typeof startFileDiscovery>[0]> = {}): Promise<Discovery> {
  const note = (_: object, message: string): void => void logged.push(message);
  const log = { info: note, warn: note, error: note };
  discovery = startFileDiscovery({ path: path(), watchFile, pool, log, ...more });
  await discovery.ready;
  return discovery;
}

async function becomes(...names: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect(ids()).toEqual(names.map((name) => `default/${name}`)), 10_000);
}

describe('startFileDiscovery', () => {
  it('fills the pool before it returns', async () => {
    write(list('a', 'b'));
    await start({ watchFile: false });
    expect(ids()).toEqual(['default/a', 'default/b']);
  });

  it.each([
    ['missing', undefined],
    ['broken', 'endpoints: ['],
    ['too large', `${list('a')}#${'é'.repeat(600_000)}`],
  ])('refuses to start when the file is %s', async (_, text) => {
    if (text !== undefined) write(text);
    await expect(start()).rejects.toThrow(ConfigError);
    expect(ids()).toEqual([]);
  });

  it('refuses to start on a folder', async () => {
    mkdirSync(path());
    await expect(start()).rejects.toThrow('is not a file');
  });

  it('follows a file written in place and one put there by renaming, again and again', async () => {
    write(list('a', 'b'));
    await start();
    write(list('b', 'c'));
    await becomes('b', 'c');
    for (const name of ['d', 'e', 'f']) {
      writeFileSync(`${path()}.tmp`, list(name));
      renameSync(`${path()}.tmp`, path());
      await becomes(name);
    }
  });

  it('keeps an endpoint that stays listed as the same one, and those that others added', async () => {
    pool.upsert({ id: 'static/x' as EndpointId, address: 'x:80', labels: new Map() });
    write(list('a'));
    await start();
    const before = pool.get('default/a' as EndpointId);
    write(list('a', 'b'));
    await vi.waitFor(() => expect(ids()).toEqual(['static/x', 'default/a', 'default/b']), 10_000);
    expect(pool.get('default/a' as EndpointId)).toBe(before);
    write(list());
    await vi.waitFor(() => expect(ids()).toEqual(['static/x']), 10_000);
  });

  it('[V562] lets endpoints take each other’s addresses, at no time two with one address', async () => {
    const at = (...ports: readonly number[]): string =>
      `endpoints:\n${ports.map((port, i) => `- {name: e${i}, address: 10.0.0.1, port: ${port}}\n`).join('')}`;
    write(at(1, 2, 3));
    const addresses = (): readonly string[] => pool.snapshot().map(({ address }) => address);
    let mostAtOne = 0;
    pool.observeChanges(() => {
      mostAtOne = Math.max(mostAtOne, addresses().length - new Set(addresses()).size);
    });
    await start();
    write(at(2, 3, 1));
    await vi.waitFor(
      () => expect(addresses()).toEqual([2, 3, 1].map((port) => `10.0.0.1:${port}`)),
      10_000,
    );
    expect(mostAtOne).toBe(0);
  });

  it('[V567] a change is made in slices, and between them no endpoint is missing that stays, nor do all go first', async () => {
    const [old, next] = ['old', 'next'].map((name) =>
      Array.from({ length: 40 }, (_, n) => `${name}${n}`),
    ) as [string[], string[]];
    write(list('stays', ...old));
    const seen: string[][] = [];
    const slices = {
      isOver: true,
      next: (): Promise<void> => {
        seen.push(ids().map((id) => id.slice('default/'.length)));
        return Promise.resolve();
      },
    };
    await start({ slices });
    write(list('stays', ...next));
    await becomes('stays', ...next);
    expect(seen.length).toBeGreaterThan(70);
    expect(seen.filter((names) => !names.includes('stays') || names.length < 41)).toEqual([]);
    write(list());
    await becomes();
  });

  it('[V567] ends a change within it when it is stopped', async () => {
    write(list('a'));
    let stop: Promise<void> | undefined;
    const slices = {
      isOver: true,
      next: async (): Promise<void> => {
        stop ??= discovery?.stop();
        await stop;
      },
    };
    await start({ slices });
    write(list('b', 'c'));
    await vi.waitFor(() => expect(stop).toBeDefined(), 10_000);
    await stop;
    expect(ids()).toEqual(['default/a', 'default/b']);
  });

  it('[V568] says how many endpoints there were before, and warns where fewer than half are left', async () => {
    write(list('a', 'b', 'c'));
    await start();
    write(list('a', 'b'));
    await becomes('a', 'b');
    expect(logged.at(-1)).toBe('endpoints loaded');
    // Lists end with and without a newline: programs and editors write both.
    write(list().trimEnd());
    await becomes();
    expect(logged.at(-1)).toContain('fewer than half of the endpoints before');
  });

  it('keeps the last valid list while the file is broken or gone, and says so', async () => {
    write(list('a'));
    const started = await start();
    write('endpoints: [');
    await vi.waitFor(() => expect(started.lastError()).toContain('line 1'), 10_000);
    rmSync(path());
    await vi.waitFor(() => expect(started.lastError()).toContain('is not there'), 10_000);
    expect(ids()).toEqual(['default/a']);
    expect(logged).toContain('the endpoints file is invalid; the last valid list stays');
    write(list('a'));
    await vi.waitFor(() => expect(started.lastError()).toBeUndefined(), 10_000);
    write(list('b'));
    await becomes('b');
  });

  it('follows a mounted ConfigMap, which changes by a link', async () => {
    publish('v1', list('a'));
    symlinkSync(join('..data', 'endpoints.yaml'), path());
    await start();
    publish('v2', list('b'));
    rmSync(join(folder, '..v1'), { recursive: true });
    await becomes('b');
    publish('v3', list('c'));
    await becomes('c');
  });

  function publish(version: string, text: string): void {
    mkdirSync(join(folder, `..${version}`));
    writeFileSync(join(folder, `..${version}`, 'endpoints.yaml'), text);
    symlinkSync(`..${version}`, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  }

  it('sees no change after it was stopped', async () => {
    write(list('a'));
    const started = await start();
    await started.stop();
    write(list('b'));
    await start();
    expect(logged.filter((message) => message === 'endpoints loaded')).toHaveLength(2);
  });
});
