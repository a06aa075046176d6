import { z } from 'zod';
import { type ModelRewriteRule, priority, weight } from '../../../rewrites/model-rewrites.ts';
import { type PoolLabels, poolSelector, selects } from '../pool/pool-labels.ts';
import type { PoolName } from '../pool/pool-sources.ts';
import { type KubeObject, leanMetadata } from '../watch/kube-objects.ts';

/** The reference's API groups. Only the first one that has a kind is read for it. */
export const RULE_GROUPS = ['llm-d.ai', 'inference.networking.x-k8s.io'] as const;

/**
 * The pool whose rules are followed, with its labels at the moment; none where they are not known.
 */
export type RuledPool = PoolName & { readonly labels?: PoolLabels };

/** An InferenceObjective or InferenceModelRewrite. Its spec is unchecked until it is used. */
export interface RuleObject extends KubeObject {
  readonly metadata?: NonNullable<KubeObject['metadata']> & {
    readonly creationTimestamp?: unknown;
    readonly deletionTimestamp?: unknown;
  };
  readonly spec?: unknown;
}

export function leanRule({ metadata, spec }: RuleObject): RuleObject {
  const { creationTimestamp, deletionTimestamp } = metadata ?? {};
  return { metadata: { ...leanMetadata(metadata), creationTimestamp, deletionTimestamp }, spec };
}

/** `troubles`: one sentence for each object that cannot be used. */
export interface Parsed<T> {
  readonly value: T;
  readonly troubles: readonly string[];
}

const poolRef = z.object({
  group: z.string().optional(),
  kind: z.string().optional(),
  name: z.string(),
});
const NO_POOL =
  'name a pool; if the object names one, the API server has dropped that, because it stores this kind in another version: write the object in that version';
const objectiveSpec = z.object({
  poolRef: z.object(poolRef.shape, {
    error: ({ input }) => (input === undefined ? NO_POOL : undefined),
  }),
  priority: priority.nullish(),
});
/** As version v1 has it. */
const objectiveSpecV1 = z.object({
  poolRefs: z.array(poolRef).nullish(),
  poolSelector: poolSelector.nullish(),
  priority: priority.nullish(),
});
const matchSchema = z.object({
  model: z.object({ type: z.string().default('Exact'), value: z.string() }).nullish(),
});
const ruleSchema = z.object({
  matches: z.array(matchSchema).nullish(),
  targets: z.array(z.object({ modelRewrite: z.string().min(1), weight: weight.nullish() })).min(1),
});
const rewriteSpec = z.object({ poolRef, rules: z.array(ruleSchema) });

/** The priorities of a pool's InferenceObjectives, by name. One without a priority has 0. */
export function prioritiesOf(
  objects: Iterable<RuleObject>,
  pool: RuledPool,
): Parsed<ReadonlyMap<string, number>> {
  const { value, troubles } = specsFor(objects, pool, objectiveSchema, 'InferenceObjective');
  const priorities = value.map(({ name, spec }) => [name, spec.priority ?? 0] as const);
  return { value: new Map(priorities), troubles };
}

/**
 * The priorities of a pool's InferenceObjectives of version v1, by name. Objects that name no pool
 * are left out: so the API server shows objects of the older version.
 */
export function prioritiesOfV1(
  objects: Iterable<RuleObject>,
  pool: RuledPool,
): Parsed<ReadonlyMap<string, number>> {
  return prioritiesOf(
    [...objects].filter(({ spec }) => isOfV1(spec)),
    pool,
  );
}

/** The names of objectives that name no pool in the version in which a server shows them. */
export function namesWithoutPool(objects: readonly RuleObject[]): ReadonlySet<string> {
  const without = objects.filter(({ spec }) => !namesPool(spec));
  return new Set(without.map(({ metadata }) => metadata?.name ?? ''));
}

/**
 * Objectives as `v1alpha2` shows them, without those of v1: a server that serves both versions shows
 * each object in both, and drops the fields that a version does not have. Those that name no pool
 * in v1 either are in error, and stay.
 */
export function olderOnly(
  objects: Iterable<RuleObject>,
  withoutPoolInV1: ReadonlySet<string>,
): readonly RuleObject[] {
  return [...objects].filter(
    ({ metadata, spec }) => namesPool(spec) || withoutPoolInV1.has(metadata?.name ?? ''),
  );
}

function namesPool(spec: unknown): boolean {
  return typeof spec === 'object' && spec !== null && ('poolRef' in spec || isOfV1(spec));
}

function objectiveSchema(spec: unknown): z.ZodType<{ priority?: number | null | undefined }> {
  return isOfV1(spec) ? objectiveSpecV1 : objectiveSpec;
}

function isOfV1(spec: unknown): boolean {
  if (typeof spec !== 'object' || spec === null || 'poolRef' in spec) return false;
  return 'poolRefs' in spec || 'poolSelector' in spec;
}

/** The rules of a pool's InferenceModelRewrites: those of the oldest object first. */
export function rewritesOf(
  objects: Iterable<RuleObject>,
  pool: RuledPool,
): Parsed<readonly ModelRewriteRule[]> {
  const { value, troubles } = specsFor(objects, pool, () => rewriteSpec, 'InferenceModelRewrite');
  const rules = value.flatMap(({ name, spec }) => spec.rules.flatMap((rule) => ruleOf(name, rule)));
  return { value: rules, troubles };
}

/** None where no match can ever apply: without models the rule would apply to every request. */
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

/** The specs of the objects of this pool that are not being deleted, the oldest first. */
function specsFor<Spec>(
  objects: Iterable<RuleObject>,
  pool: RuledPool,
  schemaOf: (spec: unknown) => z.ZodType<Spec>,
  kind: string,
): Parsed<readonly Named<Spec>[]> {
  const value: Named<Spec>[] = [];
  const troubles: string[] = [];
  for (const object of [...objects].sort(byAge)) {
    const { metadata = {}, spec } = object;
    const { name = '' } = metadata;
    if (metadata.deletionTimestamp !== undefined) continue;
    const read = readOf(object, schemaOf(spec));
    // Errors in objects of other pools are not reported.
    if (isOfOthers(read, pool)) {
      if (namesRuleGroup(read, pool))
        troubles.push(`${kind} ${name} is not followed: ${misled(pool)}`);
      continue;
    }
    if (read.spec.success) value.push({ name, spec: read.spec.data });
    else troubles.push(`${kind} ${name} is not followed: ${firstIssue(read.spec.error)}`);
  }
  return { value, troubles };
}

interface ReadObject<Spec> {
  readonly schema: z.ZodType<Spec>;
  readonly references: ReturnType<typeof referencesOf>;
  readonly selector: z.output<typeof poolSelector> | undefined;
  readonly spec: z.ZodSafeParseResult<Spec>;
}

/** All objects are looked at after each change of one: each is read once. */
const READ = new WeakMap<RuleObject, ReadObject<unknown>>();

function readOf<Spec>(object: RuleObject, schema: z.ZodType<Spec>): ReadObject<Spec> {
  const known = READ.get(object);
  if (known?.schema === schema) return known as ReadObject<Spec>;
  const { spec } = object;
  const read = {
    schema,
    references: referencesOf(spec),
    selector: selecting.safeParse(spec).data?.poolSelector,
    spec: schema.safeParse(spec),
  };
  READ.set(object, read);
  return read;
}

const oneReference = z.object({ poolRef });
const selecting = z.object({ poolSelector });
const someReferences = z.object({ poolRefs: z.array(poolRef).min(1) });

/** The pools that an object is for; undefined where it does not say in a way that can be read. */
function referencesOf(spec: unknown): readonly z.output<typeof poolRef>[] | undefined {
  const one = oneReference.safeParse(spec);
  if (one.success) return [one.data.poolRef];
  const some = someReferences.safeParse(spec).data?.poolRefs;
  return some?.filter(({ kind = 'InferencePool' }) => kind === 'InferencePool');
}

/** Some definitions of the reference fill this group in, in which it then finds no pool. */
function namesRuleGroup({ references }: ReadObject<unknown>, pool: RuledPool): boolean {
  return (references ?? []).some(
    ({ group, name }) => name === pool.name && group === RULE_GROUPS[0],
  );
}

function misled({ name, group }: RuledPool): string {
  return `its reference to ${name} has the group ${RULE_GROUPS[0]}, which has no InferencePools: set it to ${group}`;
}

/** Whether an object says, in a way that can be read, that it is for other pools only. */
function isOfOthers(
  { references, selector }: Pick<ReadObject<unknown>, 'references' | 'selector'>,
  pool: RuledPool,
): boolean {
  if (references === undefined && selector === undefined) return false;
  const isNamed = references?.some((reference) => isPool(reference, pool)) ?? false;
  return !isNamed && !(selector !== undefined && selects(selector, pool.labels ?? {}));
}

function isPool({ group, name }: z.output<typeof poolRef>, pool: RuledPool): boolean {
  return name === pool.name && (group ?? pool.group) === pool.group;
}

/** Objects of equal age are ordered by name, so that every picker has the same order. */
function byAge({ metadata: a = {} }: RuleObject, { metadata: b = {} }: RuleObject): number {
  const [older, newer] = [createdAt(a.creationTimestamp), createdAt(b.creationTimestamp)];
  if (older !== newer) return older < newer ? -1 : 1;
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1;
}

/** Texts compare as times: API servers write them in UTC, to the second. */
function createdAt(timestamp: unknown): string {
  return typeof timestamp === 'string' ? timestamp : '';
}

function firstIssue({ issues: [first] }: z.ZodError): string {
  if (first === undefined) return 'its spec cannot be read';
  return `spec.${first.path.join('.')}: ${first.message}`;
}
