import { expect, test } from 'vitest';
import { z } from 'zod';
import { SERVING_CATALOGUE } from './built-in-catalogue.ts';

/** A schema of so few fields takes hardly more than what would make it later. */
const FIELDS_AT_LOAD = 2;

test('[B240] the parameters of a built-in type are no schema before a configuration names it', () => {
  const definitions = Object.values(SERVING_CATALOGUE).flat();
  const made = definitions.filter(
    ({ config }) =>
      config instanceof z.ZodObject && Object.keys(config.shape).length > FIELDS_AT_LOAD,
  );
  expect(definitions.length).toBeGreaterThan(80);
  expect(made.map(({ type }) => type)).toEqual([]);
});
