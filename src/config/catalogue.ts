import type {
  DataSourceDefinition,
  PluginCatalogue,
  ScorerDefinition,
} from '../framework/plugin.ts';
import { byLabelFilter } from '../scheduling/filters/by-label.ts';
import {
  byLabelSelectorFilter,
  labelSelectorFilter,
} from '../scheduling/filters/label-selector.ts';
import { prefixCacheAffinityFilter } from '../scheduling/filters/prefix-cache-affinity.ts';
import { decodeFilter, encodeFilter, prefillFilter } from '../scheduling/filters/role.ts';
import { maxScorePicker } from '../scheduling/pickers/max-score.ts';
import { randomPicker } from '../scheduling/pickers/random.ts';
import { weightedRandomPicker } from '../scheduling/pickers/weighted-random.ts';
import { singleProfileHandler } from '../scheduling/profile-handlers/single.ts';
import { acceptedSources } from './accepted-sources.ts';

/** Every plugin type there is, with the scorers and data sources handed in. */
export function builtInCatalogue(
  scorers: readonly ScorerDefinition[],
  dataSources: readonly DataSourceDefinition[],
): PluginCatalogue {
  return {
    filters: [
      labelSelectorFilter,
      byLabelSelectorFilter,
      byLabelFilter,
      decodeFilter,
      prefillFilter,
      encodeFilter,
      prefixCacheAffinityFilter,
    ],
    scorers,
    pickers: [maxScorePicker, randomPicker, weightedRandomPicker],
    profileHandlers: [singleProfileHandler],
    dataSources: [...dataSources, ...acceptedSources],
  };
}
