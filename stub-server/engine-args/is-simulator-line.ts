import type { Environment } from '../../src/framework/runtime.ts';

/** Whether a command line without a command is one of llm-d-inference-sim. */
export function isSimulatorLine(args: readonly string[], environment: Environment): boolean {
  if (args[0]?.startsWith('-') !== true) return false;
  const names = args.map((arg) => /^--([^=]+)/.exec(arg)?.[1]);
  return names.includes('model') || names.includes('config') || hasModel(environment);
}

function hasModel({ SIM_MODEL: model }: Environment): boolean {
  return model !== undefined && model !== '';
}
