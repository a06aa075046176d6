import {
  labelNames,
  type TopologyLabels,
  topologyExtractor,
} from '../endpoints/scraping/topology-extractor.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';

/** The labels of nodes that a plan's plugins look at: none where nobody asks where endpoints stand. */
export function nodeLabels({ plugins }: Pick<PickerPlan, 'plugins'>): readonly string[] {
  const names = plugins
    .filter(({ definition }) => definition.type === topologyExtractor.type)
    .flatMap(({ config }) => Object.values(labelNames(config as TopologyLabels)));
  return [...new Set(names)];
}
