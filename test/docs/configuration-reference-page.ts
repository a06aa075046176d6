import { z } from 'zod';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import {
  CLUSTER_DISCOVERY,
  FILE_DISCOVERY,
  fileDiscoverySchema,
} from '../../src/config/plan/plugin-table.ts';
import { capacity } from '../../src/config/schema/capacity-schema.ts';
import { ejection } from '../../src/config/schema/ejection-schema.ts';
import { flowControl } from '../../src/config/schema/flow-control-schema.ts';
import { hold } from '../../src/config/schema/hold-schema.ts';
import { HOLDBACK_SCHEMAS } from '../../src/flow/control/policy-types.ts';

/** The parts of a JSON schema that the page shows. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  /** The default that the planner fills in, of a schema that leaves it to it. */
  readonly usual?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly not?: unknown;
}

/** The fields of a configuration that are no plugins. */
const PARTS: Readonly<Record<string, unknown>> = { hold, ejection, capacity, flowControl };
/** Types that have one of several schemas, by the value of a parameter. */
const CHOSEN: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['priority-holdback-policy', HOLDBACK_SCHEMAS],
]);
const KINDS: readonly (readonly [kind: keyof typeof SERVING_CATALOGUE, heading: string])[] = [
  ['filters', 'Filters'],
  ['scorers', 'Scorers'],
  ['pickers', 'Pickers'],
  ['profileHandlers', 'Profile handlers'],
  ['deciders', 'Deciders'],
  ['schedulers', 'Schedulers in other processes'],
  ['dataSources', 'Data sources, producers, parsers and admitters'],
];
const DISCOVERIES = [FILE_DISCOVERY, CLUSTER_DISCOVERY];
/** What JSON schema says of whole numbers without bounds. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

/** docs/configuration-reference.md, from the schemas that check a configuration. */
export function configurationReferencePage(): string {
  return `# Configuration reference

Every field and parameter, as the program checks them; made from its schemas by \`npm test -- test/docs/docs.test.ts -u\`. What
they mean, by example: [configuration.md](configuration.md); the scorers: [scorers](../scorers/README.md). A parameter with neither default
nor "required" is optional.

## Fields beside plugins and profiles

${Object.entries(PARTS).map(part).join('\n')}
${KINDS.map(kindSection).join('\n')}
## Discovery

${DISCOVERIES.map((type) => `### ${type}\n\n${table(jsonOf(fileDiscoverySchema))}`).join('\n')}`;
}

function part([name, schema]: readonly [string, unknown]): string {
  return `### ${name}\n\n${table(jsonOf(schema))}`;
}

function kindSection([kind, heading]: (typeof KINDS)[number]): string {
  const definitions = (SERVING_CATALOGUE[kind] as readonly { type: string; config: unknown }[])
    .map(({ type, config }) => ({ type, schemas: (CHOSEN.get(type) ?? [config]).map(jsonOf) }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  const bare = definitions.filter(({ schemas }) => schemas.every((it) => rowsOf(it).length === 0));
  const sections = definitions
    .filter((definition) => !bare.includes(definition))
    .map(({ type, schemas }) => `### ${type}\n\n${schemas.map(table).join('\nor\n\n')}`);
  const names = bare.map(({ type }) => `\`${type}\``).join(', ');
  const without = bare.length === 0 ? '' : `Without parameters: ${names}.\n\n`;
  return `## ${heading}\n\n${without}${sections.join('\n')}`;
}

function jsonOf(schema: unknown): Schema {
  if (!(schema instanceof z.ZodType)) return {};
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',
    // A parameter of an older release that is refused with a sentence of its own.
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema instanceof z.ZodUndefined) jsonSchema.not = {};
      const value = defaultOfLeftOut(zodSchema);
      if (value !== undefined) jsonSchema.default ??= value;
    },
  }) as Schema;
}

/** What a value that is left out is read as, where that is a number, a text, or true or false. */
function defaultOfLeftOut(schema: z.core.$ZodType): string | number | boolean | undefined {
  if (!(schema instanceof z.ZodPipe)) return undefined;
  const { data } = z.safeParse(schema, undefined);
  const isShown = typeof data === 'string' || typeof data === 'number' || typeof data === 'boolean';
  return isShown && data !== '' ? data : undefined;
}

function table(schema: Schema): string {
  const rows = rowsOf(schema).map((cells) => `| ${cells.join(' | ')} |`);
  return ['| parameter | type | default |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

/** A row for each parameter, those of objects and lists included. */
function rowsOf(schema: Schema, path = ''): readonly (readonly string[])[] {
  return variantsOf(schema).flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).flatMap(([name, field]) => {
      if (field.not !== undefined) return [];
      const at = path === '' ? name : `${path}.${name}`;
      const isRequired = required.includes(name) && field.default === undefined;
      const own = [`\`${at}\``, typeText(field), defaultText(field, isRequired)];
      const inner = variantsOf(field).flatMap((each) =>
        each.items === undefined ? rowsOf(each, at) : rowsOf(each.items, `${at}[]`),
      );
      return [own, ...inner];
    }),
  );
}

function variantsOf(schema: Schema): readonly Schema[] {
  return schema.anyOf ?? [schema];
}

function typeText(schema: Schema): string {
  const { type, anyOf, items } = schema;
  if (anyOf !== undefined) {
    // A field that may be null may as well be left out.
    const types = anyOf.filter((each) => each.type !== 'null').map(typeText);
    return [...new Set(types)].filter((text) => text !== '').join(' or ');
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) {
    return schema.enum
      .map((value) => `\`${JSON.stringify(value).replaceAll('|', '\\|')}\``)
      .join(', ');
  }
  if (type === 'array')
    return `list of ${items === undefined ? 'anything' : typeText(items) || 'anything'}`;
  if (type === undefined) return 'anything';
  const name = [type]
    .flat()
    .filter((each) => each !== 'null')
    .join(' or ');
  return `${name === 'integer' ? 'whole number' : name}${boundsText(schema)}`;
}

function boundsText({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  const bounds = [
    ...(minimum === undefined || minimum <= -UNBOUNDED ? [] : [`at least ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
    ...(maximum === undefined || maximum >= UNBOUNDED ? [] : [`at most ${maximum}`]),
    ...(exclusiveMaximum === undefined ? [] : [`below ${exclusiveMaximum}`]),
  ];
  return bounds.length === 0 ? '' : ` (${bounds.join(', ')})`;
}

function defaultText({ usual, default: value = usual }: Schema, isRequired: boolean): string {
  if (value === undefined) return isRequired ? 'required' : '';
  const text = JSON.stringify(value).replaceAll('|', '\\|');
  return text === '{}' ? '' : `\`${text}\``;
}
