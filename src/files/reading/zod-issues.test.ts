import { expect, it } from 'vitest';
import { z } from 'zod';
import type { ConfigIssue } from '../../framework/error.ts';
import { parseOrReport, zodIssues } from './zod-issues.ts';

const schema = z.strictObject({
  servers: z.array(z.strictObject({ count: z.int() })).default([]),
  labels: z.record(z.string(), z.string()).optional(),
  weight: z.number().optional(),
  ttl: z.union([z.string(), z.number()]).optional(),
  level: z.union([z.literal('all'), z.int().min(0)]).optional(),
  url: z.union([z.literal(''), z.url()]).optional(),
  page: z.url().optional(),
  own: z.number('must be a number of seconds').optional(),
});

function messages(value: unknown): readonly string[] {
  const { error } = schema.safeParse(value);
  if (error === undefined) return [];
  return zodIssues(error, { schema }).map(({ path, message }) => `${path}: ${message}`);
}

it('[V331] says of a wrong type which one it must be, and which one it is', () => {
  expect(messages({ servers: 6, labels: 7, weight: 'x', own: 'x' })).toEqual([
    'servers: must be a list, not a number',
    'labels: must be a map with fields, not a number',
    'weight: must be a number, not a string',
    'own: must be a number of seconds',
  ]);
  expect(messages({ weight: Number.POSITIVE_INFINITY, servers: [{}, { count: 1.5 }] })).toEqual([
    'servers[0].count: is missing (expected a number)',
    'servers[1].count: must be a whole number',
    'weight: must be a number, not Infinity',
  ]);
  expect(messages({ weight: Number.NEGATIVE_INFINITY })).toEqual([
    'weight: must be a number, not -Infinity',
  ]);
  expect(messages([])).toEqual(['(top level): must be a map with fields, not a list']);
});

it('[V331] says of a value with several forms what each of them is', () => {
  expect(messages({ ttl: {} })).toEqual(['ttl: must be a string or a number']);
  expect(messages({ level: true })).toEqual([
    'level: must be "all", or must be a number, not true or false',
  ]);
  expect(messages({ url: 'x', page: 'x' })).toEqual(['url: must be a URL', 'page: must be a URL']);
});

it('[V374] reports a value with more issues than a call takes arguments', () => {
  const issues: ConfigIssue[] = [];
  parseOrReport(z.array(z.string()), Array.from({ length: 200_000 }).fill(7), 'labels', issues);
  expect(issues).toHaveLength(200_000);
});
