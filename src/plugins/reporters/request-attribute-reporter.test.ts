import { expect, test } from 'vitest';
import { makeRuntime } from '../../../test/makers.ts';
import type { Usage } from '../../framework/observer.ts';
import type { DataSource } from '../../framework/plugin.ts';
import { requestAttributeReporter } from './request-attribute-reporter.ts';

const USAGE: Usage = { promptTokens: 100, completionTokens: 20, cachedTokens: 64 };
const NONE: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: undefined };

function start(attribute: object): DataSource {
  const pool = { snapshot: () => [], observe: () => undefined, set: () => undefined };
  const config = requestAttributeReporter.config.parse({
    attributes: [{ key: { name: 'cost' }, ...attribute }],
  });
  return requestAttributeReporter.start(config, { name: 'r', pool, runtime: makeRuntime() });
}

function valueOf(expression: string, usage: Usage = USAGE, condition?: string): unknown {
  const reported = [...(start({ expression, condition }).responseMetadata?.(usage) ?? [])];
  return reported[0]?.value;
}

test.each<[string, Usage, number | undefined]>([
  ['usage.prompt_tokens + usage.completion_tokens', USAGE, 120],
  ['usage.total_tokens', USAGE, 120],
  ['usage.prompt_tokens * 0.5 + usage.completion_tokens * 2.0', USAGE, 90],
  ['int(usage.prompt_tokens) * 2', USAGE, 200],
  ['usage.prompt_tokens / 3.0', USAGE, 33],
  ['usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens', USAGE, 36],
  ['usage.prompt_tokens - usage.prompt_token_details.cached_tokens', USAGE, 36],
  ['has(usage.prompt_token_details) ? 1 : 2', NONE, 2],
  ['has(usage.prompt_tokens_details) ? 1 : 2', NONE, 2],
  ['usage.total_tokens > 100.0 ? 7 : 0', USAGE, 7],
  ['usage.total_tokens', NONE, undefined],
])('[D62] [D434] %s of %j is `%s`', (expression, usage, value) => {
  expect(valueOf(expression, usage)).toBe(value);
});

test('[D62] a condition that is not true, or that fails, reports nothing', () => {
  expect(valueOf('1', USAGE, 'has(usage.prompt_tokens) && usage.prompt_tokens > 99.0')).toBe(1);
  expect(valueOf('1', USAGE, 'usage.prompt_tokens > 100.0')).toBeUndefined();
  expect(valueOf('1', USAGE, '')).toBe(1);
  expect(() => valueOf('1', USAGE, 'usage.unknown > 1.0')).toThrow(/unknown/);
});

test('[D62] the namespace is that of the load balancer unless another one is given', () => {
  const namespaceOf = (key: object): unknown =>
    [...(start({ key, expression: '1' }).responseMetadata?.(USAGE) ?? [])][0];
  expect(namespaceOf({ name: 'a' })).toEqual({ namespace: 'envoy.lb', name: 'a', value: 1 });
  expect(namespaceOf({ name: 'a', namespace: '' })).toMatchObject({ namespace: 'envoy.lb' });
  expect(namespaceOf({ name: 'a', namespace: 'b' })).toMatchObject({ namespace: 'b' });
});

test('[D62] what is no number fails and is reported as a fault', () => {
  expect(() => valueOf('"text"')).toThrow(/gave text, which is no number/);
  expect(() => valueOf('usage.prompt_tokens * 2')).toThrow(/no such overload/);
});

const LIST = `[${Array.from({ length: 100 }, () => 1).join()}]`;

test.each<[string, RegExp]>([
  ['"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("(a+)+$") ? 1 : 2', /matches\(\) is not allowed/],
  ['[1].exists(x, string(x).matches("1")) ? 1 : 2', /matches\(\) is not allowed/],
  [
    '[1].map(x, [1].map(y, [1].map(z, x + y + z))).size()',
    /more than 2 loops are inside each other/,
  ],
  [`[${LIST.slice(1, -1)},1].size()`, /maxListElements/],
])('[V201] an expression is refused that nothing bounds: %s', (expression, why) => {
  expect(() => start({ expression })).toThrow(why);
});

test('[V201] the longest loops that are allowed run as they are', () => {
  expect(valueOf(`${LIST}.map(x, ${LIST}.filter(y, x == y)).size() + "matches".size()`)).toBe(107);
});

test.each<[object, RegExp]>([
  [{ expression: 'usage.prompt_tokens +' }, /is no expression in CEL/],
  [{ expression: 'tokens + 1' }, /Unknown variable: tokens/],
  [{ expression: '' }, /expression/],
  [{ expression: '1', condition: '1 +' }, /is no expression in CEL/],
  [{ expression: '1', key: { name: '' } }, /name/],
])('[D62] %j is a configuration error', (attribute, message) => {
  expect(() => start(attribute)).toThrow(message);
});

test('[D62] there is exactly one attribute', () => {
  const attribute = { key: { name: 'a' }, expression: '1' };
  for (const attributes of [[], [attribute, attribute]]) {
    expect(() => requestAttributeReporter.config.parse({ attributes })).toThrow();
  }
});

test('[D62] what it reads of its parameters is what it reads of that again', () => {
  const attribute = { key: { name: 'a' }, expression: ' 1 ', condition: 'true' };
  const parsed = requestAttributeReporter.config.parse({ attributes: [attribute] });
  const again = requestAttributeReporter.config.parse(JSON.parse(JSON.stringify(parsed)));
  expect(again).toEqual(parsed);
});
