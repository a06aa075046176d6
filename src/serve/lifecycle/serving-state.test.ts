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
  serving.setLeading(true);
  serving.setLeading(false);
  expect(said).toEqual([false, true, false]);
});

test('[D399] it says NOT_SERVING until the endpoints of the pool are known, and without a pool', () => {
  const { serving, said } = state(true, [], false);
  serving.setPoolProtocol(undefined);
  serving.setPoolKnown(true);
  serving.setPoolKnown(false);
  expect(said).toEqual([false, false, true, false]);
});

test('[D104] it says NOT_SERVING while a parser cannot read the protocol of the pool', () => {
  const { serving, said } = state(true, ['openai-parser', 'vllmgrpc-parser']);
  serving.setPoolProtocol('http');
  expect(serving.trouble).toMatch(/vllmgrpc-parser reads only gRPC: make it kubernetes.io\/h2c/);
  serving.setPoolProtocol('kubernetes.io/h2c');
  serving.setPoolProtocol(undefined);
  expect(said).toEqual([true, false, true, true]);
});

test('[D104] parsers of HTTP, and none at all, read both protocols', () => {
  const protocols = ['http', 'kubernetes.io/h2c'];
  const sets: readonly (readonly ParserType[])[] = [[], ['openai-parser'], ['passthrough-parser']];
  for (const parsers of sets) {
    const { serving } = state(true, parsers);
    for (const protocol of protocols) serving.setPoolProtocol(protocol);
    expect(serving.trouble).toBeUndefined();
  }
});

test('a server that drains is not asked to serve again', () => {
  const { serving, said } = state(true);
  serving.detach();
  serving.setLeading(true);
  expect(said).toEqual([true]);
});
