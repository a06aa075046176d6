import { loadConfig } from '../config/load.ts';
import { ejection } from '../config/schema/ejection-schema.ts';
import type { PluginCatalogue } from '../framework/plugin.ts';
import { CAPTURE_VERSION, type CaptureHead } from '../journal/capture/capture-record.ts';
import { withEjection } from '../picker/ejection/ejection-plan.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { withShedding } from '../picker/plan/with-shedding.ts';

interface CapturedPlanOptions {
  readonly catalogue: PluginCatalogue;
  /** Another configuration as text; without it the capture's own. */
  readonly config?: GivenConfig | undefined;
}

/** What the plugins of a plan know that no capture has, each with the type that knows it. */
export function uncapturedBy({ plugins }: Pick<PickerPlan, 'plugins'>): readonly string[] {
  return plugins.flatMap(({ definition: { type, uncaptured, hashesPrompt = false } }) => {
    const what = hashesPrompt ? 'the text of prompts' : uncaptured;
    return what === undefined ? [] : [`${what} (${type})`];
  });
}

/** What decided while a capture with this head was written, and is not in it. */
export function uncapturedUnder({ shared, version }: CaptureHead): readonly string[] {
  return [
    ...(shared === true ? ['what other pickers did (--replicas-nats)'] : []),
    ...(version < CAPTURE_VERSION
      ? [`the rules of the earlier Pointsman that wrote version ${version}`]
      : []),
  ];
}

/** A configuration as text. */
export interface GivenConfig {
  readonly text: string;
  /** Its name in errors. */
  readonly source: string;
  /** Gates that come after its own. */
  readonly featureGates?: readonly string[] | undefined;
}

/** What a serving picker adds to its configuration. */
interface CapturedSettings {
  readonly ejection?: object;
  readonly saturationDetector?: object;
}

/**
 * The plan of a configuration in a capture, or of another one in its place. Where that says nothing
 * of ejection, endpoints are ejected as they were when the capture was taken; where it says nothing
 * of saturation, requests are shed as `serve` does it with that configuration, if they were shed
 * then. Throws ConfigError.
 */
export function capturedPlan(
  captured: unknown,
  { catalogue, config }: CapturedPlanOptions,
): PickerPlan {
  const loaded = loadConfig({
    text: config?.text ?? JSON.stringify(captured),
    source: config?.source ?? 'the captured configuration',
    catalogue,
    featureGates: config?.featureGates,
  });
  const { ejection: own, saturationDetector } = (captured ?? {}) as CapturedSettings;
  const sheds = config !== undefined && saturationDetector !== undefined;
  const plan = sheds ? withShedding(loaded) : loaded;
  // What a capture from before a setting does not have was not done.
  const then = own && ejection.safeParse({ silenceMs: 0, ...own }).data;
  const asCaptured = config === undefined && then !== undefined;
  return asCaptured ? { ...plan, ejection: then } : withEjection(plan, then);
}
