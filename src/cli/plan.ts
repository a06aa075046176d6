import { readFileSync } from 'node:fs';
import { builtInCatalogue } from '../config/catalogue.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import type { PickerPlan } from '../config/picker-plan.ts';
import { dataSources } from '../datalayer/data-sources.ts';
import { ConfigError } from '../framework/error.ts';
import type { ScorerDefinition } from '../framework/plugin.ts';

/** A plan from a built-in configuration's name or a file's path. Throws ConfigError. */
export function planFrom(config: string, scorers: readonly ScorerDefinition[]): PickerPlan {
  const named = NAMED_CONFIGS.get(config);
  return loadConfig({
    text: named ?? readText(config),
    source: named === undefined ? config : `built-in configuration ${config}`,
    catalogue: builtInCatalogue(scorers, dataSources),
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const names = [...NAMED_CONFIGS.keys()].join(', ');
    throw new ConfigError(path, [
      { path: 'file', message: `cannot be read (${why}), nor is it a built-in name (${names})` },
    ]);
  }
}
