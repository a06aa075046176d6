import { expect, it } from 'vitest';
import { makeContext, makePool, makeRequest } from '../../../test/makers.ts';
import type { CycleFact } from '../../framework/plugin.ts';
import { cycleKey } from '../../framework/scheduling.ts';
import { createContext } from './context.ts';

const TIDE = cycleKey<number | undefined>('tide');

function contextWith(...facts: readonly CycleFact<unknown>[]): ReturnType<typeof createContext> {
  const { now, random } = makeContext();
  const table = new Map(facts.map((fact) => [fact.key.name, fact]));
  return createContext({ request: makeRequest(), now, random }, makePool([{}, {}]), table);
}

it('computes a fact when it is first asked for, over all endpoints, and once', () => {
  let computed = 0;
  // That it is not known is a fact, too.
  for (const value of [7, undefined]) {
    const compute = (endpoints: readonly unknown[]): number | undefined => {
      computed += endpoints.length;
      return value;
    };
    computed = 0;
    const context = contextWith({ key: TIDE, compute });
    expect(computed).toBe(0);
    expect([context.get(TIDE), context.get(TIDE)]).toEqual([value, value]);
    expect(computed).toBe(2);
  }
});

it('names a fact that nothing provides', () => {
  expect(() => contextWith().get(TIDE)).toThrow(/nothing provides tide/);
});
