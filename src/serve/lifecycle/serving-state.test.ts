import { expect, test } from 'vitest';
import type { ParserType } from '../../framework/parser-type.ts';
import { createLog } from '../../runtime/log/log.ts';
import { ServingState } from './serving-state.ts';

function state(leads: boolean, parsers: readonly ParserType[] = [], known = true) {
  const said: boolean[] = [];
  const serving = new ServingState(
    { leads, known },
    { parsers: () => parsers, log: createLog('silent') },
  );
  serving.attach({ setServing: (each) => void said.push(each) });
  return { serving, said };
}

test('it says SERVING while it leads', () => {
  const { serving, said } = state(false);
  serving.lead(true);
  serving.lead(false);
  expect(said).toEqual([false, true, false]);
});

test('[D399] it says NOT_SERVING until the endpoints of the pool are known, and without a pool', () => {
  const { serving, said } = state(true, [], false);
  serving.speak(undefined);
  serving.know(true);
  serving.know(false);
  expect(said).toEqual([false, false, true, false]);
});

test('[D104] it says NOT_SERVING while a parser cannot read the protocol of the pool', () => {
  const { serving, said } = state(true, ['openai-parser', 'vllmgrpc-parser']);
  serving.speak('http');
  expect(serving.trouble).toMatch(/vllmgrpc-parser reads only gRPC: make it kubernetes.io\/h2c/);
  serving.speak('kubernetes.io/h2c');
  serving.speak(undefined);
  expect(said).toEqual([true, false, true, true]);
});

test('[D104] parsers of HTTP, and none at all, read both protocols', () => {
  const protocols = ['http', 'kubernetes.io/h2c'];
  const sets: readonly (readonly ParserType[])[] = [[], ['openai-parser'], ['passthrough-parser']];
  for (const parsers of sets) {
    const { serving } = state(true, parsers);
    for (const protocol of protocols) serving.speak(protocol);
    expect(serving.trouble).toBeUndefined();
  }
});

test('a server that drains is not asked to serve again', () => {
  const { serving, said } = state(true);
  serving.detach();
  serving.lead(true);
  expect(said).toEqual([true]);
});
