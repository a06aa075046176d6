import { describe, expect, it } from 'vitest';
import { UNPACED } from '../../../../../test/support/kubernetes/unpaced.ts';
import { BodyTooLargeError } from '../../../../framework/runtime.ts';
import type { ApiConnection } from './api-connection.ts';
import { ApiStatusError } from './kubernetes-error.ts';
import { listObjects } from './list-objects.ts';

/** An API server with objects of these sizes. */
function serverOf(sizes: readonly number[]) {
  const limits: number[] = [];
  const api: ApiConnection = {
    open: () => Promise.reject(new Error('not asked')),
    text: ({ query = {} }, { bytesMax }) => {
      const from = Number(query['continue'] ?? 0);
      const to = Math.min(sizes.length, from + Number(query['limit']));
      limits.push(Number(query['limit']));
      const items = sizes
        .slice(from, to)
        .map((size, at) => ({ name: from + at, x: 'x'.repeat(size) }));
      const more = to < sizes.length ? { continue: String(to) } : {};
      const text = JSON.stringify({ metadata: { resourceVersion: '7', ...more }, items });
      if (text.length > bytesMax) return Promise.reject(new BodyTooLargeError('too large'));
      return Promise.resolve(text);
    },
    close: () => undefined,
  };
  return { api, limits };
}

async function listed(api: ApiConnection, signal = new AbortController().signal) {
  const names: unknown[] = [];
  const visit = (object: unknown): void => void names.push((object as { name: unknown }).name);
  const version = await listObjects(
    api,
    { path: '/pods', selector: {} },
    { pace: UNPACED, visit, signal },
  );
  return { names, version };
}

const MIB = 1024 * 1024;
const upTo = (count: number): number[] => [...Array(count).keys()];

describe('a list of an API server', () => {
  it('[V342] is read in pages of about a MiB', async () => {
    const { api, limits } = serverOf(Array.from({ length: 1000 }, () => 8000));
    expect(await listed(api)).toEqual({ names: upTo(1000), version: '7' });
    expect(Math.max(...limits)).toBeLessThan(150);
    expect(limits.length).toBeLessThan(12);
  });

  it('[V342] is asked for in smaller parts where a page would be too long', async () => {
    const { api, limits } = serverOf(Array.from({ length: 30 }, () => 1.4 * MIB));
    expect((await listed(api)).names).toEqual(upTo(30));
    expect(limits.slice(0, 3)).toEqual([100, 13, 2]);
  });

  it('[V342] with an object of more than 8 MiB fails, and says so', async () => {
    const { api } = serverOf([10, 9 * MIB]);
    await expect(listed(api)).rejects.toThrow('a list of more than 8388608 bytes');
  });

  it.each(['null', '7', 'garbage', '{}', '{"items":{}}'])('fails where it is %s', async (text) => {
    const { api } = serverOf([]);
    const other = { ...api, text: () => Promise.resolve(text) };
    await expect(listed(other)).rejects.toThrow(/no JSON|without items/);
  });

  it('[V342] that has no end is read until it is stopped', async () => {
    const { api } = serverOf([]);
    const stopping = new AbortController();
    let pages = 0;
    const endless: ApiConnection = {
      ...api,
      text: () => {
        pages += 1;
        if (pages === 50) stopping.abort(new Error('stopped'));
        return Promise.resolve('{"metadata":{"continue":"more"},"items":[{"name":1}]}');
      },
    };
    await expect(listed(endless, stopping.signal)).rejects.toThrow('stopped');
    expect(pages).toBe(50);
  });

  it('[V400] whose token to go on has expired fails as a list of its version, and begins anew', async () => {
    const { api } = serverOf(Array.from({ length: 300 }, () => 10));
    let expired = true;
    const expiring: ApiConnection = {
      ...api,
      text: (question, limits) =>
        expired && question.query?.['continue'] !== undefined
          ? Promise.reject(new ApiStatusError(410, '{"message":"expired"}'))
          : api.text(question, limits),
    };
    await expect(listed(expiring)).rejects.toMatchObject({ statusCode: 410 });
    expired = false;
    expect((await listed(expiring)).names).toEqual(upTo(300));
  });
});
