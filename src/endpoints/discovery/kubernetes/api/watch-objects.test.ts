import { describe, expect, it } from 'vitest';
import { UNPACED } from '../../../../../test/support/kubernetes/unpaced.ts';
import type { ApiConnection } from './api-connection.ts';
import type { Pace } from './pace.ts';
import { watchObjects } from './watch-objects.ts';

type Pieces = () => AsyncGenerator<Uint8Array>;

async function watched(
  pieces: Pieces,
  stopAfter = Number.POSITIVE_INFINITY,
  pace: Pick<Pace, 'run' | 'now'> = UNPACED,
) {
  const events: string[] = [];
  const stopping = new AbortController();
  const api: ApiConnection = {
    open: () => Promise.resolve(pieces()),
    text: () => Promise.reject(new Error('not asked')),
    close: () => undefined,
  };
  const ended = await watchObjects(api, { path: '/pods', selector: {} }, '1', {
    pace,
    signal: stopping.signal,
    onOpen: () => undefined,
    onEvent: (type) => {
      events.push(type);
      if (events.length >= stopAfter) stopping.abort();
    },
  }).then(
    () => 'ended',
    (error: Error) => error.message,
  );
  return { events, ended };
}

const added = `${JSON.stringify({ type: 'ADDED', object: {} })}\n`;
const NO_JSON = 'an event that is no JSON, or has too many parts';
const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('a watch of an API server', () => {
  it('takes events that come in any pieces', async () => {
    const text = `${added}${added}${added}`;
    for (const size of [1, 7, 40, text.length]) {
      const { events, ended } = await watched(async function* pieces() {
        for (let at = 0; at < text.length; at += size) yield bytes(text.slice(at, at + size));
      });
      expect([events.length, ended]).toEqual([3, 'ended']);
    }
  });

  it('[V340] ends at an event that does not end, after 4 MiB', async () => {
    let given = 0;
    const { ended } = await watched(async function* pieces() {
      for (;;) {
        given += 65_536;
        yield Buffer.alloc(65_536, 'x');
      }
    });
    expect(ended).toBe('an event of more than 4194304 bytes');
    expect(given).toBeLessThan(5 * 1024 * 1024);
  });

  it.each([
    ['what is this?\n', NO_JSON],
    ['\n', NO_JSON],
    ['null\n', 'no event'],
    ['{"type":"ADDED","object":7}\n', 'no event'],
    ['{"type":"SURPRISE","object":{}}\n', 'an event of an unknown type'],
    ['{"type":"ERROR","object":{"code":410}}\n', 'status 410'],
    ['{"type":"ERROR","object":{}}\n', 'an error without a code'],
  ])('[V340] ends at %j, and takes nothing after it', async (text, reason) => {
    const { events, ended } = await watched(async function* pieces() {
      yield bytes(`${added}${text}${added}`);
      yield bytes(added);
    });
    expect([events.length, ended]).toEqual([1, reason]);
  });

  it('[V465] ends at an event of very many brackets, without reading them', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const { events, ended } = await watched(async function* pieces() {
      yield bytes(`{"type":"ADDED","object":{"labels":${deep}}}\n`);
    });
    expect([events.length, ended]).toEqual([0, NO_JSON]);
  });

  it('[V341] takes no event and no byte once it is stopped', async () => {
    let asked = 0;
    const { events } = await watched(async function* pieces() {
      for (;;) {
        asked += 1;
        yield bytes(added.repeat(1000));
      }
    }, 3);
    expect([events.length, asked]).toEqual([3, 1]);
  });

  it('[V400] ends at an event of which a byte comes now and then', async () => {
    let now = 0;
    let given = 0;
    const { events, ended } = await watched(
      async function* pieces() {
        yield bytes(added);
        for (const byte of added) {
          now += 20_000;
          given += 1;
          yield bytes(byte);
        }
      },
      undefined,
      { ...UNPACED, now: () => now },
    );
    expect([events.length, ended]).toEqual([1, 'an event that has not ended after 30 s']);
    expect(given).toBe(3);
  });
});
