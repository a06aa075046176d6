import type { AdapterArgs } from './groups/adapter-args.ts';
import type { AnswerArgs } from './groups/answer-args.ts';
import type { EncoderArgs } from './groups/encoder-args.ts';
import type { KvEventArgs } from './groups/kv-event-args.ts';
import type { MemoryArgs } from './groups/memory-args.ts';
import type { SchedulerArgs } from './groups/scheduler-args.ts';
import type { ServerArgs } from './groups/server-args.ts';
import type { TimingArgs } from './groups/timing-args.ts';

/** The settings of vLLM and llm-d-inference-sim that mean something here, under their names. */
export interface EngineArgs
  extends ServerArgs,
    SchedulerArgs,
    MemoryArgs,
    KvEventArgs,
    AdapterArgs,
    EncoderArgs,
    TimingArgs,
    AnswerArgs {}

/** Settings that take several values on the command line. */
export const LIST_ARGS: ReadonlySet<string> = new Set<keyof EngineArgs>([
  'served-model-name',
  'lora-modules',
  'failure-types',
  'api-key',
]);

/** Other names of the same settings: old ones of llm-d-inference-sim, and SGLang's. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ['lora', 'lora-modules'],
  ['model-path', 'model'],
  ['context-length', 'max-model-len'],
  ['max-running-requests', 'max-num-seqs'],
  ['max-queued-requests', 'max-waiting-queue-length'],
  ['max-prefill-tokens', 'max-num-batched-tokens'],
  ['page-size', 'block-size'],
  ['dp-size', 'data-parallel-size'],
  ['tp-size', 'tensor-parallel-size'],
  ['tp', 'tensor-parallel-size'],
  ['pp', 'pipeline-parallel-size'],
  ['dp', 'data-parallel-size'],
  ['q', 'quantization'],
]);
