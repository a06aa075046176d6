import type { Registry } from 'prom-client';
import { type PrefixMatch, prefixMatchKey } from '../../../framework/cycle-facts.ts';
import type { Endpoint } from '../../../framework/endpoint.ts';
import type { Routed } from '../../../framework/observer.ts';
import type { InferenceRequest } from '../../../framework/request.ts';
import type { CycleKey, Decision, ProfileRun } from '../../../framework/scheduling.ts';
import type { PrefixSource } from '../../../picker/cores/scheduling-core.ts';
import type { DecisionEvent } from '../../../picker/events/journal.ts';
import { HIT_BYTES, HIT_RATIO, INPUT_TOKENS } from '../page/bucket-bounds.ts';
import type { ShowFormerNames } from '../page/deprecated-names.ts';
import { eppPage, type Family, histograms } from '../page/family.ts';
import type { Tally } from '../page/tally.ts';

/** Bytes of prompt that count as one token, as in the reference. */
const BYTES_PER_TOKEN = 4;
const PLUGIN_LABELS = ['plugin_name', 'plugin_type'];
/** The server that computes the prompt, and with it the answer, or only the prompt. */
type Stage = 'decode' | 'prefill';
const STAGE_LABEL = 'endpoint_role';
/** Whether the prompt has images, videos or sounds; the reference lists which. */
type Modality = 'none' | 'media';
const MODALITY_LABEL = 'modality';

interface PrefixFamilies {
  readonly ratio: Family<Tally>;
  readonly bytes: Family<Tally>;
  readonly cachedTokens: Family<Tally>;
  readonly promptTokens: Family<Tally>;
  readonly bestKept: Family<Tally>;
  readonly bestOfAll: Family<Tally>;
}

/** The most tokens that one endpoint was thought to hold. */
type Best = Readonly<Record<'kept' | 'all', Tally>>;

type Tokens = Readonly<Record<'cachedTokens' | 'promptTokens', Tally>>;

interface SourceTallies extends Readonly<Record<'ratio' | 'bytes', Tally>> {
  readonly tokens: Readonly<Record<Stage, Tokens>>;
  readonly matchKey: CycleKey<PrefixMatch>;
  best(stage: Stage, modality: Modality): Best;
}

/**
 * How much of prompts was expected to be cached where they went, by the plugin that expected it.
 */
export class PrefixHits {
  readonly #families: PrefixFamilies;
  readonly #bySource = new Map<string, SourceTallies>();
  #tallies: SourceTallies | undefined;

  constructor(registry: Registry, show: ShowFormerNames) {
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

  /**
   * How much of a prompt the endpoint that has most of it was thought to hold: of those that the
   * picker of the profile chose from, and of all that the request could go to.
   */
  recordBest({ request, candidates, context, decision }: DecisionEvent): void {
    const tallies = this.#tallies;
    if (tallies === undefined || context === undefined || request.promptTokens === 0) return;
    if (decision?.primary.kind !== 'picked') return;
    let match: PrefixMatch;
    try {
      match = context.get(tallies.matchKey);
    } catch {
      // The source of the fact has been reported.
      return;
    }
    const stage = decision.prefill === undefined ? 'decode' : 'prefill';
    const best = tallies.best(stage, (request.mediaItems ?? 0) > 0 ? 'media' : 'none');
    // A request mostly goes where most of it is, which is seen without a look at each endpoint.
    const computing = decision.prefill ?? decision.primary.targets[0]?.endpoint;
    const here = computing === undefined ? 0 : match.matchedBlocks(computing);
    const isMost = match.mostBlocks?.() === here;
    const most = isMost
      ? cachedTokens(match, here, request)
      : mostCached(match, candidates, request);
    const kept = runOf(decision)?.kept.at(-1) ?? candidates;
    best.all.observe(most);
    const isAll = isMost || kept.length === candidates.length;
    best.kept.observe(isAll ? most : mostCached(match, kept, request));
  }

  #talliesOf({ name, type }: PrefixSource): SourceTallies {
    const key = `${type}\n${name}`;
    const found = this.#bySource.get(key);
    if (found !== undefined) return found;
    const { ratio, bytes, cachedTokens, promptTokens, bestKept, bestOfAll } = this.#families;
    const labels = { plugin_name: name, plugin_type: type };
    const tokensAt = (stage: Stage): Tokens => {
      const staged = { ...labels, [STAGE_LABEL]: stage };
      return { cachedTokens: cachedTokens.child(staged), promptTokens: promptTokens.child(staged) };
    };
    const bests = new Map<string, Best>();
    const made: SourceTallies = {
      ratio: ratio.child(labels),
      bytes: bytes.child(labels),
      tokens: { decode: tokensAt('decode'), prefill: tokensAt('prefill') },
      matchKey: prefixMatchKey(name),
      best(stage, modality) {
        const found = bests.get(`${stage} ${modality}`);
        if (found !== undefined) return found;
        const all = { ...labels, [STAGE_LABEL]: stage, [MODALITY_LABEL]: modality };
        const best = { kept: bestKept.child(all), all: bestOfAll.child(all) };
        bests.set(`${stage} ${modality}`, best);
        return best;
      },
    };
    this.#bySource.set(key, made);
    return made;
  }
}

/** The run of the profile that chose where the prompt is computed. */
function runOf({ prefill, primary, profiles }: Decision): ProfileRun | undefined {
  if (prefill === undefined) return primary.run;
  const chose = profiles.find(
    (each) => each.kind === 'picked' && each.targets[0]?.endpoint === prefill,
  );
  return chose?.run;
}

function mostCached(
  match: PrefixMatch,
  endpoints: readonly Endpoint[],
  request: InferenceRequest,
): number {
  let most = 0;
  for (const endpoint of endpoints) most = Math.max(most, match.matchedBlocks(endpoint));
  return cachedTokens(match, most, request);
}

function cachedTokens(
  { blockTokens }: PrefixMatch,
  blocks: number,
  { promptTokens }: InferenceRequest,
): number {
  return Math.min(promptTokens, blocks * blockTokens);
}

function familiesOf(registry: Registry, show: ShowFormerNames): PrefixFamilies {
  const page = eppPage(registry);
  const hits = (bounds: readonly number[], unit: string, what: string): Family<Tally> => {
    const help = `${what} of the prompt the picked endpoint was thought to hold in its prefix cache.`;
    const name = `prefix_indexer_hit_${unit}`;
    const family = page(histograms(bounds), name, help, PLUGIN_LABELS);
    show(family, name, [`inference_extension_${name}`], PLUGIN_LABELS);
    return family;
  };
  const labels = [STAGE_LABEL, ...PLUGIN_LABELS];
  const tokens = (name: string, help: string): Family<Tally> =>
    page(histograms(INPUT_TOKENS), name, help, labels);
  const best = (name: string, help: string): Family<Tally> =>
    page(histograms(INPUT_TOKENS), name, help, [STAGE_LABEL, MODALITY_LABEL, ...PLUGIN_LABELS]);
  return {
    ratio: hits(HIT_RATIO, 'ratio', 'Share'),
    bytes: hits(HIT_BYTES, 'bytes', 'Bytes'),
    cachedTokens: tokens(
      'prefix_predicted_cached_tokens',
      'Prompt tokens the endpoint that computes the prompt was thought to hold in its prefix cache.',
    ),
    promptTokens: tokens(
      'prefix_prompt_tokens',
      'Prompt tokens of requests whose prefix an index has looked up.',
    ),
    bestKept: best(
      'prefix_best_predicted_cached_tokens',
      'Prompt tokens that the endpoint with most of them was thought to hold, of those the profile chose from.',
    ),
    bestOfAll: best(
      'prefix_best_available_cached_tokens',
      'Prompt tokens that the endpoint with most of them was thought to hold, of all before filters.',
    ),
  };
}
