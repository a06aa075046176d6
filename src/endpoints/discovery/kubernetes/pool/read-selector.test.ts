import { expect, test } from 'vitest';
import { readSelector } from './read-selector.ts';

test.each([
  ['app=vllm', 'app=vllm'],
  [' app = vllm , env != test ', 'app = vllm,env != test'],
  ['llm-d.ai/role==decode', 'llm-d.ai/role==decode'],
  ['env in(prod),tier notin()', 'env in(prod),tier notin()'],
  ['env in (prod, staging),tier notin (frontend)', 'env in (prod, staging),tier notin (frontend)'],
  ['key,!deprecated', 'key,!deprecated'],
  ['size > 3', 'size > 3'],
  ['app=', 'app='],
])('the selector %j is read as Kubernetes reads it', (text, wanted) => {
  expect(readSelector(text)).toEqual({ text: wanted });
});

test.each(['', ' , ', 'app=a b', '=x', 'env in prod', 'env in (a', 'a=b,,c=d', 'a==b=c'])(
  'the selector %j is refused with a sentence',
  (text) => {
    expect(readSelector(text)).toEqual({ fault: expect.stringMatching(/such as app=vllm/) });
  },
);
