import type { Random } from '../../../src/framework/runtime.ts';

/** Values of more deeply nested schemas are null. */
const DEPTH_MAX = 8;

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** An invented value that fits a JSON Schema; equal for equal random numbers. */
export function valueFor(schema: unknown, random: Random, depth = 0): unknown {
  const known = typeof schema === 'object' && schema !== null ? (schema as Schema) : {};
  const { type, enum: choices, const: only, properties = {}, required } = known;
  const { items, minimum = 0, maximum } = known;
  if (only !== undefined) return only;
  if (choices !== undefined && choices.length > 0) {
    return choices[Math.floor(random.next() * choices.length)];
  }
  if (depth > DEPTH_MAX) return null;
  const draw = (): number => minimum + random.next() * ((maximum ?? minimum + 100) - minimum);
  const [kind = 'object'] = typeof type === 'string' ? [type] : (type ?? []);
  switch (kind) {
    case 'string':
      return `text ${Math.floor(random.next() * 1000)}`;
    case 'integer':
      return Math.ceil(draw());
    case 'number':
      return Math.round(100 * draw()) / 100;
    case 'boolean':
      return random.next() < 0.5;
    case 'null':
      return null;
    case 'array':
      return [valueFor(items ?? {}, random, depth + 1)];
    default:
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => required?.includes(name) !== false)
          .map(([name, value]) => [name, valueFor(value, random, depth + 1)]),
      );
  }
}
