import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';

const DAY = '2026-06-01T00:00:';
const call = (atS: string, prompt: number, cached: number, more: object = {}): object => ({
  message_id: 'm',
  timestamp: `${DAY}${atS}Z`,
  duration_ms: 2000.5,
  initiator_type: 'agent',
  model: 'Model A',
  result: 'Success',
  status_code: 'OK',
  tokens: { total: prompt + 50, prompt, completion: 50, cached, cached_pct: 0.5 },
  message_metadata: [{ type: 'System', role: 'system', sequenceId: 0, token_len: 90 }],
  ...more,
});
const session = (session_id: string, ...turns: readonly (readonly object[])[]): string =>
  JSON.stringify({
    session_id,
    date: '2026-06-01',
    turns: turns.map((llm_calls, turn_id) => ({ turn_id, llm_calls, tool_batches: [] })),
  });
const read = (...lines: readonly string[]): Trace =>
  readBytes(lines.join('\n'), { lenient: false });

describe('a trace of GitHub Copilot’s coding agents', () => {
  it('[G180] is recognized, and a session becomes a request for each call, with the pause before it', () => {
    const { blockTokens, requests } = read(
      session('a', [call('00.5', 1000, 0), call('03.0', 1200, 896)], [call('10.0', 1300, 1152)]),
      session('b', [call('01.0', 700, 0, { model: 'Model B' })]),
    );
    expect(blockTokens).toBe(128);
    expect(requests.map(({ atMs, session, thinkMs }) => [atMs, session, thinkMs])).toEqual([
      [0, 'a', undefined],
      [500, 'b', undefined],
      [2500, 'a', 499.5],
      [9500, 'a', 4999.5],
    ]);
    expect(requests[1]).toMatchObject({
      model: 'Model B',
      promptTokens: 700,
      outputTokens: 50,
      seen: { outcome: 'completed', e2eMs: 2000.5 },
    });
  });

  it('[G180] has prompts that share with the one before as much as was found cached', () => {
    const { requests } = read(
      session('a', [call('00.0', 640, 0), call('05.0', 900, 640), call('09.0', 900, 256)]),
    );
    const [first = [], second = [], third = []] = requests.map(({ blockIds }) => blockIds);
    expect([first, second, third].map(({ length }) => length)).toEqual([5, 7, 7]);
    expect(second.slice(0, 5)).toEqual(first);
    expect(third.slice(0, 2)).toEqual(first.slice(0, 2));
    expect(new Set([...first, ...second, ...third]).size).toBe(5 + 2 + 5);
  });

  it('[G180] has sessions of one model that begin alike as far as the first prompt was cached', () => {
    const { requests } = read(
      session('a', [call('00.0', 640, 256)]),
      session('b', [call('01.0', 640, 384)]),
      session('c', [call('02.0', 640, 384, { model: 'Model B' })]),
    );
    const [a = [], b = [], c = []] = requests.map(({ blockIds }) => blockIds);
    expect(b.slice(0, 2)).toEqual(a.slice(0, 2));
    expect(b[2]).not.toBe(a[2]);
    expect(c.some((block) => a.includes(block) || b.includes(block))).toBe(false);
  });

  it('[G181] has calls that were cancelled or failed, and names what has no size', () => {
    const failed = { tokens: { prompt: 300, completion: 0, cached: 0 } };
    const { requests, notes } = read(
      session('a', [
        call('00.0', 640, 0),
        call('00.5', 640, 0, { result: 'UserCancel' }),
        call('01.0', 0, 0, { result: 'Error', ...failed }),
        call('02.0', 0, 0),
        call('03.0', 640, 0, { tokens: null }),
      ]),
    );
    const seen = requests.map((each) => [each.seen?.outcome, each.outputTokens, each.thinkMs]);
    expect(seen).toEqual([
      ['completed', 50, undefined],
      ['aborted', 50, undefined],
      ['failed', 50, undefined],
    ]);
    expect(notes.join()).toMatch(/left out: 2 records.*1 answer of unknown length/);
  });

  it('[G181] is refused with its line where a time or a count cannot be', () => {
    const whole = session('a', [call('00.0', 640, 0)]);
    const odd = (more: object): string => session('b', [call('01.0', 640, 0, more)]);
    expect(() => read(whole, odd({ timestamp: 'noon' }))).toThrow(
      /trace:2: timestamp: "noon" is no time/,
    );
    expect(() => read(whole, odd({ tokens: { prompt: -1 } }))).toThrow(/trace:2: turns\.0\.llm_/);
  });
});
