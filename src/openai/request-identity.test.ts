import { expect, test } from 'vitest';
import type { RequestHead } from './body/body-reader.ts';
import { headerOnlyRequest } from './parsers/open-body.ts';
import { requestIdentity } from './request-identity.ts';

function headOf(headers: Record<string, string>): RequestHead {
  return { id: 'r0', path: '/v1/models', headers: new Map(Object.entries(headers)) };
}

/** Takes the header `x-agent`. */
const agent = { fairnessId: (headers: ReadonlyMap<string, string>) => headers.get('x-agent') };

/** The fairness id of a request with these headers, and what the plugins threw. */
function fairnessOf(plugins: readonly object[], headers: Record<string, string>): string {
  const identified = requestIdentity({ plugins: () => plugins, onFault: () => undefined });
  return headerOnlyRequest(identified(headOf(headers))).fairnessId;
}

test('[D54] a plugin gives the fairness id where the client names none', () => {
  expect(fairnessOf([{}, agent], { 'x-agent': 'session-1' })).toBe('session-1');
  expect(fairnessOf([agent], { 'x-agent': 's', 'x-gateway-inference-fairness-id': 'a' })).toBe('a');
  expect(fairnessOf([agent], { 'x-agent': 's', 'x-llm-d-inference-fairness-id': 'b' })).toBe('b');
  expect(fairnessOf([agent], { 'x-agent': 's', 'x-llm-d-inference-fairness-id': ' ' })).toBe('s');
  expect(fairnessOf([agent], {})).toBe('default-flow');
});

test('[D54] a long session id is shortened as any fairness id', () => {
  expect(fairnessOf([agent], { 'x-agent': 's'.repeat(10_000) }).length).toBeLessThan(300);
});

test('[D54] a head stays as it is without such a plugin, and after a change of plugins', () => {
  let plugins: readonly object[] = [{}];
  const identified = requestIdentity({ plugins: () => plugins, onFault: () => undefined });
  const head = headOf({ 'x-agent': 's' });
  expect(identified(head)).toBe(head);
  plugins = [agent];
  expect(identified(head)).not.toBe(head);
  expect(head.headers.size).toBe(1);
});

test('[D54] a plugin that throws is reported and left out', () => {
  const broken = {
    fairnessId: () => {
      throw new Error('broken');
    },
  };
  const faults: unknown[] = [];
  const identified = requestIdentity({
    plugins: () => [broken, agent],
    onFault: (plugin) => faults.push(plugin),
  });
  expect(headerOnlyRequest(identified(headOf({ 'x-agent': 's' }))).fairnessId).toBe('s');
  expect(faults).toEqual([broken]);
});
