import type { DetectorPlan, FlowControlPlan } from '../../flow/control/flow-control-plan.ts';
import type { OutputEstimate } from '../../framework/output-estimate.ts';
import type { ParserType } from '../../framework/parser-type.ts';
import type {
  DataSourceDefinition,
  DeciderDefinition,
  FilterDefinition,
  PickerDefinition,
  ProfileHandlerDefinition,
  SchedulerDefinition,
  ScorerDefinition,
} from '../../framework/plugin.ts';
import type { EjectionPlan } from '../ejection/ejection-plan.ts';
import type { CapacityPlan } from './capacity-plan.ts';
import type { ConfigNote } from './config-note.ts';
import type { HoldPlan } from './hold-plan.ts';

/** A plugin type by its kind. */
export type KnownPlugin =
  | { readonly kind: 'filter'; readonly definition: FilterDefinition }
  | { readonly kind: 'scorer'; readonly definition: ScorerDefinition }
  | { readonly kind: 'picker'; readonly definition: PickerDefinition }
  | { readonly kind: 'decider'; readonly definition: DeciderDefinition }
  | { readonly kind: 'handler'; readonly definition: ProfileHandlerDefinition }
  | { readonly kind: 'source'; readonly definition: DataSourceDefinition };

/** A plugin of a known type, with checked parameters. */
export type PlannedPlugin = {
  readonly name: string;
  /** What its schema returned. */
  readonly config: unknown;
  /** Parameters that give this `config` when they are written to a file. */
  readonly written: unknown;
} & KnownPlugin;

export type PlannedHandler = PlannedPlugin & { readonly kind: 'handler' };

/** What decides in place of the profiles. */
export interface PlannedScheduler {
  readonly definition: SchedulerDefinition;
  readonly config: unknown;
  /** How many of its targets the proxy gets: the first, and fallbacks. */
  readonly targetsMax: number;
}

export interface PlannedProfile {
  readonly name: string;
  readonly plugins: readonly { readonly plugin: PlannedPlugin; readonly weight: number }[];
}

export interface FileDiscoveryPlan {
  readonly path: string;
  readonly watchFile: boolean;
}

/** A configuration that can be run: every name resolved, every default filled in. */
export interface PickerPlan {
  readonly plugins: readonly PlannedPlugin[];
  readonly profiles: readonly PlannedProfile[];
  readonly handler: PlannedHandler;
  readonly scheduler: PlannedScheduler | undefined;
  readonly discovery: FileDiscoveryPlan | undefined;
  /** Undefined where the configuration says nothing of it. */
  readonly ejection?: EjectionPlan | undefined;
  /** Undefined where the configuration says nothing of it: then no request waits. */
  readonly hold?: HoldPlan | undefined;
  /** Undefined for any number of requests in flight. */
  readonly capacity?: CapacityPlan | undefined;
  /** The index by which the ledger counts cached tokens, where the configuration names one. */
  readonly inFlightMatch?: string | undefined;
  /** How the tokens of answers in flight are estimated; undefined where they do not count. */
  readonly outputEstimate?: OutputEstimate | undefined;
  /** Undefined where its feature gate is off. */
  readonly flowControl?: FlowControlPlan | undefined;
  /**
   * The saturation by which requests with a priority below 0 are refused; undefined with flow
   * control.
   */
  readonly shedding?: DetectorPlan | undefined;
  /** How requests are read; left out or empty for the usual parsers. */
  readonly parsers?: readonly ParserType[] | undefined;
  /** Whether bodies get the picker's priority; left out for no. */
  readonly propagatesPriority?: boolean | undefined;
  /** The texts of `notes`. */
  readonly warnings: readonly string[];
  /** Every part that is accepted and has no effect, or should be written in another way. */
  readonly notes: readonly ConfigNote[];
  /** The configuration with all defaults written out: as a file it gives this plan again. */
  readonly effective: EffectiveConfig;
}

export interface EffectiveConfig {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plugins: readonly {
    readonly type: string;
    readonly name: string;
    readonly parameters: unknown;
  }[];
  readonly schedulingProfiles: readonly {
    readonly name: string;
    readonly plugins: readonly { readonly pluginRef: string; readonly weight?: number }[];
  }[];
  readonly dataLayer: {
    readonly injectDefaults: false;
    readonly discovery?: { readonly pluginRef: string };
  };
  readonly scheduler?: Readonly<Record<string, unknown>>;
  readonly ejection?: EjectionPlan;
  readonly hold?: HoldPlan;
  readonly capacity?: CapacityPlan;
  readonly featureGates?: readonly string[];
  readonly flowControl?: Readonly<Record<string, unknown>>;
  readonly saturationDetector?: { readonly pluginRef: string };
  readonly requestHandler?: {
    readonly parsers: readonly { readonly pluginRef: string }[];
    readonly propagatePriority?: true;
  };
}
