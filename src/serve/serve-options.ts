import type { KubeConfig } from '@kubernetes/client-node';
import type { ConfigFile } from '../catalogue/plan.ts';
import type { PoolName } from '../endpoints/discovery/kubernetes/kube-resources.ts';
import type { PromotionRule } from '../lab/promotion/promotion-rule.ts';
import type { ShadowData } from '../lab/shadow/shadow-data.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import type { Log } from '../runtime/log.ts';
import type { ElectionTiming } from './election/leader-election.ts';

/** What `pointsman serve` was told, read and checked. */
export interface ServeOptions {
  readonly plan: PickerPlan;
  /** Where `plan` comes from, to be followed when it changes. */
  readonly configFile?: ConfigFile | undefined;
  /** `host:port` each. */
  readonly endpoints: readonly string[];
  readonly endpointsFile: string | undefined;
  readonly poolName: string;
  /** Follow this InferencePool and its pods; no other endpoints then. */
  readonly kubernetes?: { readonly config: KubeConfig; readonly pool: PoolName } | undefined;
  /** Be ready only while this picker leads those of its pool; without it all are. Needs `kubernetes`. */
  readonly election?:
    | { readonly identity: string; readonly timing?: ElectionTiming | undefined }
    | undefined;
  readonly host: string;
  /** 0 takes a free port, here and below. */
  readonly extProcPort: number;
  readonly healthPort: number | undefined;
  readonly metricsPort: number;
  /** Plaintext. Else TLS with `certPath`'s tls.crt and tls.key, or with a certificate of our own. */
  readonly insecure: boolean;
  readonly certPath: string | undefined;
  readonly bodyBytesMax: number;
  readonly earlyPickBytes: number;
  readonly halfCloseAfterPick: boolean;
  readonly drainTimeoutMs: number;
  readonly seed: number | undefined;
  /** Where to write all that goes into the decisions, and how much at most; nowhere when left out. */
  readonly capture?: { readonly folder: string; readonly bytesMax: number } | undefined;
  /** Decide nothing: follow the picker whose filter stands before ours, see `ObserverSession`. */
  readonly observe?: boolean | undefined;
  /** How many of the last decisions can be explained; none at 0. */
  readonly explainDecisions: number;
  /** Configurations that decide beside the one in charge, without effect. */
  readonly shadows?: readonly ShadowData[] | undefined;
  /** The plans of these, so that they are told of the headers that they read. */
  readonly shadowPlans?: readonly PickerPlan[] | undefined;
  /** Where to write what each of them decides, and how much at most. */
  readonly shadowLog?: { readonly path: string; readonly bytesMax: number } | undefined;
  /** Let shadows decide, by hand and by the rule if there is one. `plans` are theirs, by the names of `shadows`. */
  readonly promotion?:
    | { readonly rule?: PromotionRule | undefined; readonly plans: ReadonlyMap<string, PickerPlan> }
    | undefined;
  readonly log: Log;
}

export interface Serving {
  readonly extProcPort: number;
  readonly healthPort: number | undefined;
  readonly metricsPort: number;
  /** NOT_SERVING first, then streams in flight get the drain time-out, then all is closed. */
  stop(): Promise<void>;
}
