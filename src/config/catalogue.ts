import type {
  DataSourceDefinition,
  PluginCatalogue,
  SchedulerDefinition,
  ScorerDefinition,
} from '../framework/plugin.ts';
import { alwaysDisaggregate } from '../scheduling/deciders/always-disaggregate.ts';
import { alwaysMultimodal } from '../scheduling/deciders/always-multimodal.ts';
import { byCost } from '../scheduling/deciders/by-cost.ts';
import { prefixBased } from '../scheduling/deciders/prefix-based.ts';
import { assignmentFilter } from '../scheduling/filters/assignment.ts';
import { byLabelFilter } from '../scheduling/filters/by-label.ts';
import { concurrencyDetector, utilizationDetector } from '../scheduling/filters/detectors.ts';
import { endpointAttributeFilter } from '../scheduling/filters/endpoint-attribute.ts';
import { headerBasedTestingFilter } from '../scheduling/filters/header-based-testing.ts';
import {
  byLabelSelectorFilter,
  labelSelectorFilter,
} from '../scheduling/filters/label-selector.ts';
import { prefixCacheAffinityFilter } from '../scheduling/filters/prefix-cache-affinity.ts';
import { decodeFilter, encodeFilter, prefillFilter } from '../scheduling/filters/role.ts';
import { roleMinimumFilter } from '../scheduling/filters/role-minimum.ts';
import { sessionAffinityFilter } from '../scheduling/filters/session-affinity.ts';
import { sloHeadroomTierFilter } from '../scheduling/filters/slo-headroom-tier.ts';
import { topologyAffinityFilter } from '../scheduling/filters/topology-affinity.ts';
import { utilizationFilter } from '../scheduling/filters/utilization.ts';
import { maxScorePicker } from '../scheduling/pickers/max-score.ts';
import { randomPicker } from '../scheduling/pickers/random.ts';
import { weightedRandomPicker } from '../scheduling/pickers/weighted-random.ts';
import { dataParallel } from '../scheduling/profile-handlers/data-parallel.ts';
import { disaggregationProfiles } from '../scheduling/profile-handlers/disaggregation-profiles.ts';
import { headerProfile } from '../scheduling/profile-handlers/header-profile.ts';
import { pdProfiles } from '../scheduling/profile-handlers/pd-profiles.ts';
import { singleProfileHandler } from '../scheduling/profile-handlers/single.ts';
import { acceptedSources } from './accepted-sources.ts';

/** Every plugin type there is, with the scorers, data sources and schedulers handed in. */
export function builtInCatalogue(
  scorers: readonly ScorerDefinition[],
  dataSources: readonly DataSourceDefinition[],
  schedulers: readonly SchedulerDefinition[] = [],
): PluginCatalogue {
  return {
    filters: [
      labelSelectorFilter,
      byLabelSelectorFilter,
      byLabelFilter,
      decodeFilter,
      prefillFilter,
      encodeFilter,
      roleMinimumFilter,
      prefixCacheAffinityFilter,
      assignmentFilter,
      concurrencyDetector,
      endpointAttributeFilter,
      headerBasedTestingFilter,
      sessionAffinityFilter,
      sloHeadroomTierFilter,
      topologyAffinityFilter,
      utilizationDetector,
      utilizationFilter,
    ],
    scorers,
    pickers: [maxScorePicker, randomPicker, weightedRandomPicker],
    profileHandlers: [
      singleProfileHandler,
      headerProfile,
      dataParallel,
      disaggregationProfiles,
      pdProfiles,
    ],
    deciders: [alwaysDisaggregate, alwaysMultimodal, byCost, prefixBased],
    dataSources: [...dataSources, ...acceptedSources],
    schedulers,
  };
}
