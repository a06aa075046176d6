import { z } from 'zod';
import { unwrapped } from '../../files/reading/zod-issues.ts';

/** Go's `int`, which has 64 bits. As numbers of ours, its ends are ±2^63. */
const GO_INT_END = 2 ** 63;

/** Go's own reader takes names of fields in any case; that of Kubernetes does not. */
type Names = 'any case' | 'exact';

/**
 * A value of YAML or JSON as Go's JSON reader puts it into fields of these types. It leaves a field
 * alone where the value is null, and makes null in a list the zero of its type. A whole number of
 * 64 bits is one, too: beyond 2^53 it counts as 2^53, because no parameter distinguishes more.
 */
export function asGoReads(value: unknown, schema: unknown, names: Names): unknown {
  const shape = unwrapped(schema);
  if (Array.isArray(value)) {
    const element: unknown = shape instanceof z.ZodArray ? unwrapped(shape.element) : undefined;
    return value.map((each) => (each === null ? zeroOf(element) : asGoReads(each, element, names)));
  }
  if (typeof value === 'number') return isWhole(shape) ? inGoInt(value) : value;
  const fields = fieldsOf(shape);
  if (typeof value !== 'object' || value === null || fields === undefined) return value;
  return readFields(value, fields, names);
}

function readFields(
  value: object,
  fields: Readonly<Record<string, unknown>>,
  names: Names,
): unknown {
  const known = new Map(
    names === 'exact' ? [] : Object.keys(fields).map((name) => [name.toLowerCase(), name]),
  );
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => {
      const name = Object.hasOwn(fields, key) ? key : known.get(key.toLowerCase());
      if (name === undefined) return [[key, each]];
      return each === null ? [] : [[name, asGoReads(each, fields[name], names)]];
    }),
  );
}

/**
 * The fields of an object's schema, or of all that a value may be; undefined where there are none.
 */
function fieldsOf(shape: unknown): Readonly<Record<string, unknown>> | undefined {
  if (shape instanceof z.ZodObject) return shape.shape;
  if (!(shape instanceof z.ZodUnion)) return undefined;
  const each = shape.options.map((option) => fieldsOf(unwrapped(option)));
  return each.every((fields) => fields === undefined) ? undefined : Object.assign({}, ...each);
}

/** What stands in a Go list of that type where null is given; null where the type is not known. */
function zeroOf(shape: unknown): unknown {
  if (shape instanceof z.ZodString || shape instanceof z.ZodEnum) return '';
  if (shape instanceof z.ZodNumber) return 0;
  if (shape instanceof z.ZodBoolean) return false;
  if (shape instanceof z.ZodArray) return [];
  return shape instanceof z.ZodRecord || fieldsOf(shape) !== undefined ? {} : null;
}

function isWhole(shape: unknown): boolean {
  return shape instanceof z.ZodNumber && shape.isInt;
}

function inGoInt(value: number): number {
  const isGoInt = Number.isInteger(value) && value >= -GO_INT_END && value < GO_INT_END;
  if (!isGoInt) return value;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value));
}
