import type { PluginCatalogue } from '../framework/plugin.ts';
import type { Random, Runtime } from '../framework/runtime.ts';
import type { GivenConfig } from './captured-plan.ts';
import type { FirstToken } from './redecision.ts';

export interface RedecideOptions {
  readonly catalogue: PluginCatalogue;
  /** Another configuration as text; without it the capture's own decides. */
  readonly config?: GivenConfig | undefined;
  readonly randomOf: (seed: number) => Random;
  /** Later decisions build on where requests went, or where this core would have sent them. */
  readonly state?: 'as-it-happened' | 'as-if-decided';
  /** Called for each first token that is seen and was predicted; only with `as-it-happened`. */
  readonly onFirstToken?: ((token: FirstToken) => void) | undefined;
  /** Whether decisions that differ are explained. */
  readonly explains?: boolean | undefined;
  /** Whether each decision names all endpoints with the highest score. */
  readonly namesBest?: boolean | undefined;
  /** Called with what its own configuration knew that is not in the capture. */
  readonly onUncaptured?: ((what: string) => void) | undefined;
  /** For a scheduler in another process, which is asked only with it. */
  readonly schedulerRuntime?: Runtime;
}
