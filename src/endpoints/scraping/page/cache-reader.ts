import type { CacheConfig } from '../../../framework/endpoint-attributes.ts';
import type { EngineMapping } from './engine-metrics.ts';
import { CONFIG_COUNT_MAX, isCount } from './is-count.ts';
import { LoadMetric } from './load-metric.ts';
import {
  type FinderOf,
  OPTIONAL_EVERY_PAGES,
  type Sample,
  type SeriesFinder,
} from './prometheus-scan.ts';

/** Reads the size of the KV cache from each page; an equal size is the same object. */
export function cacheReader(
  mapping: EngineMapping,
  finderOf: FinderOf,
): (page: Buffer) => CacheConfig | undefined {
  const sizes = cacheSizesReader(mapping, finderOf);
  let config: CacheConfig | undefined;
  return (page) => {
    const { blockTokens, blocks, matchTokens, keepsPrefixes } = sizes(page);
    const unit = isCount(matchTokens) ? matchTokens : undefined;
    if (!isCount(blockTokens) || !isCount(blocks)) config = undefined;
    else if (
      config?.blockTokens !== blockTokens ||
      config.blocks !== blocks ||
      config.matchTokens !== unit ||
      config.keepsPrefixes !== keepsPrefixes
    ) {
      const match = unit !== undefined && { matchTokens: unit };
      config = { blockTokens, blocks, ...match, ...(keepsPrefixes === false && { keepsPrefixes }) };
    }
    return config;
  };
}

type CacheSizes = Partial<CacheConfig>;

/** vLLM says `None` where prefixes are found in whole blocks. */
const MATCH_TOKENS_LABEL = 'prefix_match_unit';
/** vLLM says `False` where it was started without prefix caching. */
const KEEPS_PREFIXES_LABEL = 'enable_prefix_caching';

function cacheSizesReader(
  mapping: EngineMapping,
  finderOf: FinderOf,
): (page: Buffer) => CacheSizes {
  const { cacheInfo = [], blockTokens = [], blocks = [] } = mapping;
  const { blockTokensLabel = 'block_size', blocksLabel = 'num_gpu_blocks' } = mapping;
  const finders = (specs: readonly string[]): readonly SeriesFinder[] =>
    specs.map((spec) => finderOf(spec, OPTIONAL_EVERY_PAGES));
  const infos = finders(cacheInfo);
  const size = new LoadMetric(finders(blockTokens), Math.max, CONFIG_COUNT_MAX);
  const count = new LoadMetric(finders(blocks), Math.max, CONFIG_COUNT_MAX);
  return (page) => {
    const labels = firstOf(infos, page)?.labels;
    return {
      blockTokens: size.read(page) ?? Number(labels?.get(blockTokensLabel)),
      blocks: count.read(page) ?? Number(labels?.get(blocksLabel)),
      matchTokens: Number(labels?.get(MATCH_TOKENS_LABEL)),
      ...(labels?.get(KEEPS_PREFIXES_LABEL) === 'False' && { keepsPrefixes: false }),
    };
  };
}

/** The first sample of the first finder that finds one: those after it do not search the page. */
function firstOf(
  finders: readonly Pick<SeriesFinder, 'first'>[],
  page: Buffer,
): Sample | undefined {
  for (const finder of finders) {
    const found = finder.first(page);
    if (found !== undefined) return found;
  }
  return undefined;
}
