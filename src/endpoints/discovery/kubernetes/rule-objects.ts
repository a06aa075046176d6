import { z } from 'zod';
import type { ModelRewriteRule } from '../../rewrites/model-rewrites.ts';
import type { KubeObject } from './informer.ts';
import type { PoolName } from './kube-resources.ts';

/** An object that is about a pool. Its spec is read when it is used: an API server takes what its CRD lets pass. */
export interface RuleObject extends KubeObject {
  readonly metadata?: NonNullable<KubeObject['metadata']> & {
    readonly creationTimestamp?: unknown;
    readonly deletionTimestamp?: unknown;
  };
  readonly spec?: unknown;
}

/** An object with what is read of it. */
export function leanRule({ metadata = {}, spec }: RuleObject): RuleObject {
  const { name, namespace, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  return {
    metadata: { name, namespace, resourceVersion, creationTimestamp, deletionTimestamp },
    spec,
  };
}

/** What objects say, and a sentence for each that says nothing that can be used. */
export interface Read<T> {
  readonly value: T;
  readonly troubles: readonly string[];
}

const PRIORITY_MAX = 2 ** 31 - 1;
const WEIGHT_MAX = 1_000_000;

const poolRef = z.object({ group: z.string().optional(), name: z.string() });
const objectiveSpec = z.object({
  poolRef,
  priority: z.int().min(-PRIORITY_MAX).max(PRIORITY_MAX).nullish(),
});
const matchSchema = z.object({
  model: z.object({ type: z.string().default('Exact'), value: z.string() }).nullish(),
});
const ruleSchema = z.object({
  matches: z.array(matchSchema).nullish(),
  targets: z
    .array(
      z.object({
        modelRewrite: z.string().min(1),
        weight: z.int().min(1).max(WEIGHT_MAX).nullish(),
      }),
    )
    .min(1),
});
const rewriteSpec = z.object({ poolRef, rules: z.array(ruleSchema) });

/** The priorities of a pool's InferenceObjectives, by name. One without a priority has 0. */
export function prioritiesOf(
  objects: Iterable<RuleObject>,
  pool: PoolName,
): Read<ReadonlyMap<string, number>> {
  const { value, troubles } = specsFor(objects, pool, objectiveSpec, 'InferenceObjective');
  const priorities = value.map(({ name, spec }) => [name, spec.priority ?? 0] as const);
  return { value: new Map(priorities), troubles };
}

/** The rules of a pool's InferenceModelRewrites: the oldest object's first, then in its order. */
export function rewritesOf(
  objects: Iterable<RuleObject>,
  pool: PoolName,
): Read<readonly ModelRewriteRule[]> {
  const { value, troubles } = specsFor(objects, pool, rewriteSpec, 'InferenceModelRewrite');
  const rules = value.flatMap(({ name, spec }) => spec.rules.flatMap((rule) => ruleOf(name, rule)));
  return { value: rules, troubles };
}

/** No rule where it has matches and none can ever match: it must not become one for all. */
function ruleOf(
  name: string,
  { matches, targets }: z.output<typeof ruleSchema>,
): readonly ModelRewriteRule[] {
  const models = (matches ?? []).flatMap(({ model }) =>
    model?.type === 'Exact' ? [model.value] : [],
  );
  if (models.length === 0 && (matches ?? []).length > 0) return [];
  return [
    {
      rule: name,
      models,
      targets: targets.map(({ modelRewrite, weight }) => ({
        model: modelRewrite,
        weight: weight ?? undefined,
      })),
    },
  ];
}

interface Named<Spec> {
  readonly name: string;
  readonly spec: Spec;
}

/** The specs of objects that are about this pool and not being deleted, the oldest first. */
function specsFor<Spec extends { readonly poolRef: z.output<typeof poolRef> }>(
  objects: Iterable<RuleObject>,
  pool: PoolName,
  schema: z.ZodType<Spec>,
  kind: string,
): Read<readonly Named<Spec>[]> {
  const value: Named<Spec>[] = [];
  const troubles: string[] = [];
  for (const { metadata = {}, spec } of [...objects].sort(byAge)) {
    const { name = '' } = metadata;
    if (metadata.deletionTimestamp !== undefined) continue;
    // Of another pool's object nothing is said, whatever is wrong with it.
    const about = z.object({ poolRef }).safeParse(spec);
    if (about.success && !isPool(about.data.poolRef, pool)) continue;
    const read = schema.safeParse(spec);
    if (read.success) value.push({ name, spec: read.data });
    else troubles.push(`${kind} ${name} is not followed: ${sentenceOf(read.error)}`);
  }
  return { value, troubles };
}

function isPool({ group, name }: z.output<typeof poolRef>, pool: PoolName): boolean {
  return name === pool.name && (group ?? pool.group) === pool.group;
}

/** Of equal age by name, so that every picker has the same order. */
function byAge({ metadata: a = {} }: RuleObject, { metadata: b = {} }: RuleObject): number {
  const [older, newer] = [createdAt(a.creationTimestamp), createdAt(b.creationTimestamp)];
  if (older !== newer) return older < newer ? -1 : 1;
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1;
}

/** API servers write every time alike, in UTC to the second, so that texts compare as times. */
function createdAt(timestamp: unknown): string {
  return typeof timestamp === 'string' ? timestamp : '';
}

function sentenceOf({ issues: [first] }: z.ZodError): string {
  if (first === undefined) return 'its spec cannot be read';
  return `spec.${first.path.join('.')}: ${first.message}`;
}
