import { z } from 'zod';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DetectorPart } from './flow-control-parts.ts';
import type { DetectorPlan, PlannedPolicy } from './flow-control-plan.ts';
import {
  type BacklogConfig,
  backlog,
  type ConcurrencyConfig,
  concurrency,
  highest,
  STAGES,
  type UtilizationConfig,
  utilization,
} from './saturation/saturation-detectors.ts';

/** The scrape interval, and what reading a page and a garbage collection may take. */
const SCRAPE_LAG_MS: Millis = 50 + 250;
/** What is in flight is known at once. */
const COUNTED_LAG_MS: Millis = 10;

/** What measures saturation where a configuration names nothing. */
export const DEFAULT_DETECTOR: DetectorPlan = {
  name: 'utilization-detector',
  type: 'utilization-detector',
  config: { queueDepthThreshold: 5, kvCacheUtilThreshold: 0.8, metricsStalenessThreshold: 200 },
  children: [],
};

const maxSaturationConfig = z.lazy(() =>
  z
    .strictObject({
      /** Names of other detectors. */
      detectors: z.array(z.string().min(1)).min(1),
      stages: z.record(z.string(), z.array(z.enum(STAGES)).min(1)).default({}),
    })
    .refine(({ detectors }) => new Set(detectors).size === detectors.length, {
      path: ['detectors'],
      message: 'must name each detector once',
    })
    .refine(
      ({ detectors, stages }) => Object.keys(stages).every((name) => detectors.includes(name)),
      {
        path: ['stages'],
        message: 'must name only entries of detectors',
      },
    ),
);

/** The highest saturation of others. Flow control makes detectors: as data sources they do nothing. */
export const maxSaturationDetector: DataSourceDefinition = defineDataSource({
  type: 'max-saturation-detector',
  config: maxSaturationConfig,
  start: () => ({ stop: () => undefined }),
});

/** By prompts that are not computed and requests in flight, see `backlog`. Not in the reference. */
export const backlogDetector: DataSourceDefinition = defineDataSource({
  type: 'backlog-detector',
  config: z.lazy(() =>
    z.strictObject({
      maxPendingTokens: z.int().positive().default(512),
      maxConcurrency: z.int().positive().default(256),
    }),
  ),
  start: () => ({ stop: () => undefined }),
});

/** The names of the detectors that it combines; none for a detector that measures itself. */
export function combinedBy({ type, config }: PlannedPolicy): readonly string[] {
  if (type !== maxSaturationDetector.type) return [];
  return (config as z.output<typeof maxSaturationConfig>).detectors;
}

type Create = (plan: DetectorPlan) => DetectorPart;

const CREATE: ReadonlyMap<string, Create> = new Map<string, Create>([
  [
    'utilization-detector',
    ({ name, config }) => {
      const given = config as UtilizationConfig;
      const lagMs = SCRAPE_LAG_MS + given.metricsStalenessThreshold;
      return { name, lagMs, create: (inFlight) => utilization(given, inFlight) };
    },
  ],
  [
    'concurrency-detector',
    ({ name, config }) => {
      const given = config as ConcurrencyConfig;
      return { name, lagMs: COUNTED_LAG_MS, create: (inFlight) => concurrency(given, inFlight) };
    },
  ],
  [
    backlogDetector.type,
    ({ name, config }) => {
      const given = config as BacklogConfig;
      return { name, lagMs: COUNTED_LAG_MS, create: (inFlight) => backlog(given, inFlight) };
    },
  ],
  [
    maxSaturationDetector.type,
    ({ name, config, children }) => {
      const { stages } = config as z.output<typeof maxSaturationConfig>;
      const parts = children.map(detectorPart);
      return {
        name,
        lagMs: Math.max(...parts.map(({ lagMs }) => lagMs)),
        create: (inFlight) =>
          highest(
            parts.map((part) => ({
              name: part.name,
              detector: part.create(inFlight),
              stages: stages[part.name],
            })),
          ),
      };
    },
  ],
]);

/** Whether plugins of this type measure saturation. */
export function isDetector(type: string): boolean {
  return CREATE.has(type);
}

/** Throws Error for a type that is no detector: see `isDetector`. */
export function detectorPart(plan: DetectorPlan): DetectorPart {
  const create = CREATE.get(plan.type);
  if (create === undefined) throw new Error(`${plan.type} is not a detector`);
  return create(plan);
}
