import { scorers } from '../../scorers/index.ts';
import { acceptedSources } from '../config/reference/reference-types.ts';
import { backlogDetector, maxSaturationDetector } from '../flow/control/detector-types.ts';
import { policySources } from '../flow/control/policy-types.ts';
import type {
  DataSourceDefinition,
  PluginCatalogue,
  SchedulerDefinition,
  ScorerDefinition,
} from '../framework/plugin.ts';
import { alwaysDisaggregate, alwaysMultimodal } from '../plugins/deciders/always.ts';
import { byCost } from '../plugins/deciders/by-cost.ts';
import { prefixBased } from '../plugins/deciders/prefix-based.ts';
import { assignmentFilter } from '../plugins/filters/assignment.ts';
import { concurrencyDetector, utilizationDetector } from '../plugins/filters/detectors.ts';
import { endpointAttributeFilter } from '../plugins/filters/endpoint-attribute.ts';
import { headerBasedTestingFilter } from '../plugins/filters/header-based-testing.ts';
import {
  byLabelFilter,
  byLabelSelectorFilter,
  labelSelectorFilter,
} from '../plugins/filters/label-selector.ts';
import { prefixCacheAffinityFilter } from '../plugins/filters/prefix-cache-affinity.ts';
import { decodeFilter, encodeFilter, prefillFilter } from '../plugins/filters/role.ts';
import { roleMinimumFilter } from '../plugins/filters/role-minimum.ts';
import { servedModelFilter } from '../plugins/filters/served-model.ts';
import {
  multiclusterSessionAffinity,
  sessionAffinityFilter,
} from '../plugins/filters/session-affinity.ts';
import { sloHeadroomTierFilter } from '../plugins/filters/slo-headroom-tier.ts';
import { topologyAffinityFilter } from '../plugins/filters/topology-affinity.ts';
import { utilizationFilter } from '../plugins/filters/utilization.ts';
import { maxScorePicker } from '../plugins/pickers/max-score.ts';
import { randomPicker } from '../plugins/pickers/random.ts';
import { weightedRandomPicker } from '../plugins/pickers/weighted-random.ts';
import { dataParallel } from '../plugins/profile-handlers/data-parallel.ts';
import { disaggregationProfiles } from '../plugins/profile-handlers/disaggregation-profiles.ts';
import { headerProfile } from '../plugins/profile-handlers/header-profile.ts';
import { pdProfiles } from '../plugins/profile-handlers/pd-profiles.ts';
import { singleProfileHandler } from '../plugins/profile-handlers/single.ts';
import { remote } from '../remote/remote.ts';
import { dataSources } from './data-sources.ts';

/** All built-in plugins, with these scorers, data sources and schedulers. */
export function catalogueOf(
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
      servedModelFilter,
      headerBasedTestingFilter,
      sessionAffinityFilter,
      multiclusterSessionAffinity,
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
    dataSources: [
      ...dataSources,
      ...acceptedSources,
      ...policySources,
      backlogDetector,
      maxSaturationDetector,
    ],
    schedulers,
  };
}

/** Every built-in plugin type that needs no other process, for the library and the simulator. */
export const EMBEDDED_CATALOGUE: PluginCatalogue = catalogueOf(scorers, dataSources);

/** Every built-in plugin type. */
export const SERVING_CATALOGUE: PluginCatalogue = catalogueOf(scorers, dataSources, [remote]);
