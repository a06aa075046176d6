import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import {
  type DataSourceDefinition,
  defineDataSource,
  type EndpointWriter,
} from '../../framework/plugin.ts';
import { textOr } from '../../plugins/parameters/text-or.ts';
import {
  configuredMapping,
  ENGINES,
  type EngineConfig,
  type EngineMapping,
  engineConfigSchema,
} from './page/engine-metrics.ts';

const LEGACY_ENGINE_LABEL = 'inference.networking.k8s.io/engine-type';

export interface ExtractorConfig {
  readonly engineLabelKey: string;
  readonly defaultEngine: string;
  readonly engineConfigs: readonly EngineConfig[];
}

/** The reference's own name for what `defaultEngine` names. */
const RESERVED_ENGINE = 'default';

function namedOnce(engines: readonly EngineConfig[], context: z.RefinementCtx): void {
  engines.forEach(({ name }, index) => {
    const message =
      name === RESERVED_ENGINE
        ? `${name} means the one that defaultEngine names; give the engine another name`
        : `two engines are named ${name}; give one of them another name`;
    const isFirst = engines.findIndex((each) => each.name === name) === index;
    if (isFirst && name !== RESERVED_ENGINE) return;
    context.addIssue({ code: 'custom', path: [index, 'name'], message });
  });
}

/** The parameters of an extractor. */
export const extractorSchema: z.ZodType<ExtractorConfig> = z.lazy(() =>
  z
    .strictObject({
      engineLabelKey: textOr('llm-d.ai/engine-type'),
      defaultEngine: textOr('vllm'),
      engineConfigs: z.array(engineConfigSchema).superRefine(namedOnce).default([]),
    })
    .refine(
      ({ defaultEngine, engineConfigs }) =>
        [...engineConfigs, ...ENGINES].some(({ name }) => name === defaultEngine),
      {
        path: ['defaultEngine'],
        message: 'names neither a built-in engine nor one of engineConfigs',
      },
    ),
);

const DEFAULT: ExtractorConfig = extractorSchema.parse({});

// By pool, as the pool's metrics source may start before or after the extractor.
const configured = new WeakMap<EndpointWriter, ExtractorConfig>();

/** Configures how the metrics source of the same pool reads the pages of each engine. */
export const coreMetricsExtractor: DataSourceDefinition = defineDataSource<ExtractorConfig>({
  type: 'core-metrics-extractor',
  config: extractorSchema,
  start(parsed, { pool }) {
    configured.set(pool, parsed);
    return { stop: () => void configured.delete(pool) };
  },
});

/** The mappings by which the pool's extractor reads an endpoint's pages. */
export function mappingsFor(pool: EndpointWriter, endpoint: Endpoint): readonly EngineMapping[] {
  return mappingsOf(configured.get(pool) ?? DEFAULT, endpoint);
}

/** The mapping of the labelled engine, or else all, the default engine's first. */
export function mappingsOf(
  { engineLabelKey, defaultEngine, engineConfigs }: ExtractorConfig,
  { labels }: Endpoint,
): readonly EngineMapping[] {
  const own = new Set(engineConfigs.map(({ name }) => name));
  const configs = engineConfigs.map(configuredMapping);
  const known = [...configs, ...ENGINES.filter(({ name }) => !own.has(name))];
  const label = labels.get(engineLabelKey) ?? labels.get(LEGACY_ENGINE_LABEL);
  const named = known.filter(({ name }) => name === label);
  if (named.length > 0) return named;
  return [...known].sort(
    (a, b) => Number(b.name === defaultEngine) - Number(a.name === defaultEngine),
  );
}
