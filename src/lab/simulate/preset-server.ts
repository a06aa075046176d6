import { PRESETS, type PresetName } from '../../../stub-server/presets/presets.ts';
import type { ServerSpec } from './pool-spec.ts';

/** What a server has from its preset. */
export type PresetServer = Pick<
  ServerSpec,
  | 'preset'
  | 'accelerators'
  | 'latency'
  | 'kvTokens'
  | 'sequencesMax'
  | 'batchedTokensMax'
  | 'admissionMs'
>;

/** Says what a server is for, where prompts are computed elsewhere. */
export const ROLE_LABEL = 'llm-d.ai/role';
/** Tokens in a KV block of the presets. */
const PRESET_BLOCK_TOKENS = 16;

export function presetServer(name: PresetName): PresetServer {
  const { latency, kvBlocks, accelerators = 1, ...limits } = PRESETS[name];
  return {
    preset: name,
    accelerators,
    latency,
    kvTokens: PRESET_BLOCK_TOKENS * kvBlocks,
    ...limits,
  };
}
