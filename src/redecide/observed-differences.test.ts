import { describe, expect, it } from 'vitest';
import { CAPTURE_HEAD, capturedRequest, capturedServer } from '../../test/captured-records.ts';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import type { CaptureRecord } from '../journal/capture/capture-record.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import type { Explained } from './observed-differences.ts';
import { redecide } from './redecide.ts';

const QUEUES = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- {type: label-selector-filter, parameters: {matchLabels: {open: 'yes'}}}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: label-selector-filter}
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 1}
`;
const SECOND_MS = 1000;

const server = (id: string, open = 'yes'): CaptureRecord => capturedServer(id, { open });

/** A request that an observed picker decided, or what `by` names. */
const request = (
  n: number,
  endpoint: string,
  { t = SECOND_MS * n, by = 'observed' }: { t?: number; by?: string } = {},
): CaptureRecord => capturedRequest(n, { t, d: { endpoint, score: 0, by } });

const sample = (id: string, waiting: number, at: number, kv = 0): CaptureRecord => ({
  e: 'm',
  id,
  m: [waiting, 0, kv, at],
});

async function explained(
  ...records: readonly CaptureRecord[]
): Promise<readonly (Explained | undefined)[]> {
  const all: (Explained | undefined)[] = [];
  const options = {
    catalogue: EMBEDDED_CATALOGUE,
    randomOf: seededRandom,
    config: { text: QUEUES, source: 'queues' },
  };
  for await (const each of redecide([CAPTURE_HEAD, ...records], options)) all.push(each.explained);
  return all;
}

const why = async (...records: readonly CaptureRecord[]): Promise<string | undefined> =>
  (await explained(...records)).at(-1)?.why;

describe('why an observed decision differs', () => {
  const servers = [server('a'), server('b'), server('c', 'no')];

  it('[D480] says the same, a tie, and what was left out', async () => {
    const short = [sample('a', 0, 1), sample('b', 3, 1), sample('c', 0, 1)];
    expect(await why(...servers, ...short, request(0, 'a'))).toBe('same');
    expect(await why(...servers, ...short, request(0, 'b'))).toBe('unexplained');
    expect(await why(...servers, ...short, request(0, 'c'))).toBe('not-scored');
    const equal = [sample('a', 1, 1), sample('b', 1, 1), sample('c', 1, 1)];
    const both = [
      await why(...servers, ...equal, request(0, 'a')),
      await why(...servers, ...equal, request(0, 'b')),
    ];
    expect(new Set(both)).toEqual(new Set(['same', 'tie']));
  });

  it('[D480] says what follows from samples just before, each server’s by itself', async () => {
    const before = [sample('a', 4, 1), sample('b', 5, 1)];
    // In both pairs `a` has the shorter queue, but not with its former sample beside the present `b`.
    const now = [sample('a', 0, 50), sample('b', 1, 50)];
    expect(await why(...servers, ...before, ...now, request(0, 'b'))).toBe('samples');
    const worse = [sample('a', 0, 1), sample('b', 4, 1)];
    expect(await why(...servers, ...worse, ...now, request(0, 'b'))).toBe('unexplained');
  });

  it('[D480] takes no sample from long before', async () => {
    const longAgo = [sample('a', 5, 1), sample('b', 4, 1)];
    const since = [2, 3, 4, 5].flatMap((at) => [sample('a', 0, at), sample('b', 1, at)]);
    expect(await why(...servers, ...longAgo, ...since, request(0, 'b'))).toBe('unexplained');
  });

  it('[D480] says of picks at random what they would be, so that a wide explanation shows', async () => {
    const short = [sample('a', 0, 1), sample('b', 3, 1)];
    const requests = [0, 1, 2].map((n) => request(n, 'a'));
    const drawn = (await explained(...servers, ...short, ...requests)).map((each) => each?.drawn);
    expect(drawn).toEqual(['same', 'unexplained', 'not-scored']);
  });

  it('[D480] looks at fifty decisions a second at most, and at none that no other picker made', async () => {
    const all = [sample('a', 0, 1), sample('b', 3, 1)];
    const times = [0, 5, 19.9, 20, 39, 40];
    const at = await explained(...servers, ...all, ...times.map((t, n) => request(n, 'a', { t })));
    expect(at.map((each) => each !== undefined)).toEqual([true, false, false, true, false, true]);
    expect(await why(...servers, ...all, request(0, 'a', { by: 'mine' }))).toBeUndefined();
  });
});
