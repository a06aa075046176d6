import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { activeRequest } from './active-request.ts';

function scoresOf(parameters: unknown, requests: readonly number[]): readonly number[] {
  const scorer = activeRequest.create(activeRequest.config.parse(parameters), makeRuntime());
  const load = requests.map((each) => ({ requests: each }));
  return scorer.score(makePool(requests.map(() => ({}))), makeContext({ load }));
}

describe('active-request-scorer', () => {
  it('counts our own requests in flight against the busiest endpoint', () => {
    expect(scoresOf({}, [0, 1, 4])).toEqual([1, 0.75, 0]);
  });

  it('gives endpoints up to the threshold the score of idle ones', () => {
    expect(scoresOf({ idleThreshold: 2 }, [0, 2, 3, 4])).toEqual([1, 1, 0.25, 0]);
  });

  it('keeps busy endpoints below a ceiling', () => {
    expect(scoresOf({ maxBusyScore: 0.5 }, [0, 1, 4])).toEqual([1, 0.375, 0]);
  });
});
