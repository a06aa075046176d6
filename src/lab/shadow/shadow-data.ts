import { configText } from '../../catalogue/plan.ts';

/** What a shadow's thread starts with. */
export interface ShadowData {
  /** A configuration as text, and its name in error messages. */
  readonly config: string;
  readonly source: string;
  /** Modules with additional plugin types. */
  readonly plugins: readonly string[];
  readonly state: 'as-it-happened' | 'as-if-decided';
  /** Whether each decision is also reported as a line. */
  readonly reportsDecisions?: boolean;
}

/** A configuration to run as a shadow. Throws ConfigError when it cannot be read. */
export function shadowFrom(
  config: string,
  plugins: readonly string[],
  state: ShadowData['state'] = 'as-it-happened',
): ShadowData {
  return { config: configText(config), source: config, plugins, state };
}
