import type { Registry } from 'prom-client';
import type { Routed } from '../../../framework/observer.ts';
import type { PrefixSource } from '../../../picker/cores/scheduling-core.ts';
import { HIT_BYTES, HIT_RATIO, INPUT_TOKENS } from '../page/bucket-bounds.ts';
import type { ShowTwins } from '../page/deprecated-names.ts';
import { eppPage, type Family, histograms } from '../page/family.ts';
import type { Tally } from '../page/tally.ts';

/** Bytes of prompt that count as one token, as in the reference. */
const BYTES_PER_TOKEN = 4;
const PLUGIN_LABELS = ['plugin_name', 'plugin_type'];
/** The server that computes the prompt, and with it the answer, or only the prompt. */
type Stage = 'decode' | 'prefill';
const STAGE_LABEL = 'endpoint_role';

interface PrefixFamilies {
  readonly ratio: Family<Tally>;
  readonly bytes: Family<Tally>;
  readonly cachedTokens: Family<Tally>;
  readonly promptTokens: Family<Tally>;
}

type Tokens = Readonly<Record<'cachedTokens' | 'promptTokens', Tally>>;

interface SourceTallies extends Readonly<Record<'ratio' | 'bytes', Tally>> {
  readonly tokens: Readonly<Record<Stage, Tokens>>;
}

/** How much of prompts was expected to be cached where they went, by the plugin that expected it. */
export class PrefixHits {
  readonly #families: PrefixFamilies;
  readonly #bySource = new Map<string, SourceTallies>();
  #tallies: SourceTallies | undefined;

  constructor(registry: Registry, show: ShowTwins) {
    this.#families = familiesOf(registry, show);
  }

  /** Whether a plugin says what is cached: without one, a pick is not a miss. */
  get isCounted(): boolean {
    return this.#tallies !== undefined;
  }

  /** Counts for this plugin from now on; undefined counts nothing. */
  follow(source: PrefixSource | undefined): void {
    this.#tallies = source && this.#talliesOf(source);
  }

  record({ request, cachedTokens, prefill, prefillCachedTokens = 0 }: Routed): void {
    const tallies = this.#tallies;
    const { promptTokens } = request;
    if (tallies === undefined || promptTokens === 0) return;
    tallies.ratio.observe(cachedTokens / promptTokens);
    tallies.bytes.observe(cachedTokens * BYTES_PER_TOKEN);
    const tokens = tallies.tokens[prefill === undefined ? 'decode' : 'prefill'];
    tokens.cachedTokens.observe(prefill === undefined ? cachedTokens : prefillCachedTokens);
    tokens.promptTokens.observe(promptTokens);
  }

  #talliesOf({ name, type }: PrefixSource): SourceTallies {
    const key = `${type}\n${name}`;
    const found = this.#bySource.get(key);
    if (found !== undefined) return found;
    const { ratio, bytes, cachedTokens, promptTokens } = this.#families;
    const labels = { plugin_name: name, plugin_type: type };
    const tokensAt = (stage: Stage): Tokens => {
      const staged = { ...labels, [STAGE_LABEL]: stage };
      return { cachedTokens: cachedTokens.child(staged), promptTokens: promptTokens.child(staged) };
    };
    const made = {
      ratio: ratio.child(labels),
      bytes: bytes.child(labels),
      tokens: { decode: tokensAt('decode'), prefill: tokensAt('prefill') },
    };
    this.#bySource.set(key, made);
    return made;
  }
}

function familiesOf(registry: Registry, show: ShowTwins): PrefixFamilies {
  const page = eppPage(registry);
  const hits = (bounds: readonly number[], unit: string, what: string): Family<Tally> => {
    const help = `${what} of the prompt the picked endpoint was thought to hold in its prefix cache.`;
    const name = `prefix_indexer_hit_${unit}`;
    const family = page(histograms(bounds), name, help, PLUGIN_LABELS);
    show(family, name, [`inference_extension_${name}`], PLUGIN_LABELS);
    return family;
  };
  const tokens = (name: string, help: string): Family<Tally> =>
    page(histograms(INPUT_TOKENS), name, help, [STAGE_LABEL, ...PLUGIN_LABELS]);
  return {
    ratio: hits(HIT_RATIO, 'ratio', 'Share'),
    bytes: hits(HIT_BYTES, 'bytes', 'Bytes'),
    cachedTokens: tokens(
      'prefix_predicted_cached_tokens',
      'Prompt tokens the endpoint that computes the prompt was thought to hold in its prefix cache.',
    ),
    promptTokens: tokens('prefix_prompt_tokens', 'All tokens of the same prompts.'),
  };
}
