import { configText, type PlanAdditions } from '../catalogue/plan.ts';

/** What a shadow's thread starts with. */
export interface ShadowData {
  /** A configuration as text, and its name in error messages. */
  readonly config: string;
  readonly source: string;
  /** Gates that come after the configuration's own. */
  readonly featureGates?: readonly string[] | undefined;
  /** Modules with additional plugin types. */
  readonly plugins: readonly string[];
  readonly state: 'as-it-happened' | 'as-if-decided';
  /** Whether each decision is also reported as a line. */
  readonly reportsDecisions?: boolean;
}

/**
 * A configuration to run as a shadow: a file or a built-in one, or the text that is given; the
 * default one where it is empty. Throws ConfigError when it cannot be read.
 */
export function shadowFrom(
  config: string,
  {
    text,
    featureGates,
    plugins = [],
    state = 'as-it-happened',
  }: PlanAdditions & Partial<Pick<ShadowData, 'plugins' | 'state'>> = {},
): ShadowData {
  return { config: configText(config, text), source: config, featureGates, plugins, state };
}
