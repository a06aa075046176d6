import { expect, it } from 'vitest';
import { leanPool } from '../pool/inference-pool.ts';
import { leanRule } from '../rules/rule-objects.ts';
import { KeptObjects } from './kept-objects.ts';
import { type KubeObject, leanNode, leanPod } from './kube-objects.ts';

const KINDS: readonly (readonly [string, (object: KubeObject) => KubeObject])[] = [
  ['Pod', (object) => leanPod(object, [])],
  ['Node', (object) => leanNode(object, [])],
  ['InferencePool', leanPool],
  ['InferenceObjective', leanRule],
];

it.each(KINDS)('[V484] an object of kind %s is kept whatever its metadata is', (_, lean) => {
  const kept = new KeptObjects();
  // What `toString` says here cannot be called, so that no text can be made of it.
  const texts = [null, {}, { name: { toString: 1 } }, { name: 'a', namespace: [1] }];
  for (const metadata of texts) kept.set(lean({ metadata } as unknown as KubeObject));
  kept.set(lean({}));
  expect(new Set(kept.all.keys())).toEqual(new Set(['/', '/a']));
});
