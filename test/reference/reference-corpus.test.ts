import { describe, expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { REFERENCE_TYPES } from '../../src/config/reference/reference-table.ts';
import { ConfigError, type ConfigIssue } from '../../src/framework/error.ts';
import { NOTE_REASONS } from '../../src/picker/plan/config-note.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { type CorpusCase, configurationOf, corpusCases } from '../corpus/corpus-case.ts';

const cases = corpusCases();

function read(given: CorpusCase): PickerPlan | readonly ConfigIssue[] {
  const text = configurationOf(given);
  try {
    return loadConfig({ text, source: given.from, catalogue: SERVING_CATALOGUE });
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
}

const isPlan = (result: ReturnType<typeof read>): result is PickerPlan => 'plugins' in result;

describe('configurations that are published', () => {
  test.each(cases.filter(({ refused }) => refused === undefined))(
    '[D8] $from is accepted',
    (given) => {
      const result = read(given);
      expect(isPlan(result) ? [] : result).toEqual([]);
      for (const { reason, text } of isPlan(result) ? result.notes : []) {
        expect(Object.keys(NOTE_REASONS)).toContain(reason);
        expect(text.length).toBeGreaterThan(20);
      }
    },
  );

  test.each(cases.filter(({ refused }) => refused !== undefined))(
    '[D8] $from is refused, as there: $refused',
    (given) => {
      expect(isPlan(read(given))).toBe(false);
    },
  );

  test('[D8] every type of the reference is known here', () => {
    const { filters, scorers, pickers, profileHandlers, deciders, dataSources } = SERVING_CATALOGUE;
    const all = [filters, scorers, pickers, profileHandlers, deciders, dataSources].flat();
    const known = new Set([
      ...all.map(({ type }) => type),
      'file-discovery',
      'multicluster-file-discovery',
    ]);
    const missing = [...REFERENCE_TYPES.keys()].filter((type) => !known.has(type));
    expect(missing).toEqual([]);
  });
});
