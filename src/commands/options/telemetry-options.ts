import type { Command } from 'commander';
import { commandLineError } from '../../framework/error.ts';
import type { Environment } from '../../framework/runtime.ts';
import { type LineWriter, standardOutput } from '../../runtime/log/line-writer.ts';
import { planTracing, type TracingPlan } from '../../telemetry/tracing/tracing-plan.ts';

/** Flags of `serve` about traces and the access log. */
export interface TelemetryFlags {
  readonly tracing: boolean;
  readonly accessLog: boolean;
}

export function addTelemetryOptions(command: Command): Command {
  return command
    .option(
      '--tracing',
      'send OpenTelemetry traces; the OTEL_* variables say where and how many, see ' +
        'docs/telemetry.md',
      false,
    )
    .option(
      '--access-log',
      'write a line of JSON to standard output for each request that has ended',
      false,
    );
}

/** Throws ConfigError for variables that cannot be used. */
export function telemetryFrom(
  { tracing, accessLog, observe }: TelemetryFlags & { readonly observe: boolean },
  environment: Environment,
): { readonly tracing: TracingPlan | undefined; readonly accessLog: LineWriter | undefined } {
  for (const [flag, given] of [
    ['--tracing', tracing],
    ['--access-log', accessLog],
  ] as const) {
    if (!given || !observe) continue;
    const message = 'cannot be used with --observe: the picker that decides has the requests';
    throw commandLineError(flag, message);
  }
  return {
    tracing: tracing ? planTracing(environment) : undefined,
    accessLog: accessLog ? standardOutput() : undefined,
  };
}
