import { readFileSync, writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'yaml';
import { ConfigError } from '../../src/framework/error.ts';
import { type CalibrationReport, renderReport, reportOn } from './calibration-report.ts';
import { fitPoints } from './fit-points.ts';
import { fitSteps, readSteps, renderSteps } from './fit-steps.ts';
import type { LogPrior } from './gauss-newton.ts';
import { ACCELERATORS, type AcceleratorName, hardwarePriors, LLAMA_8B } from './hardware-priors.ts';
import { readServingPoints } from './serving-point.ts';

interface CalibrateFlags {
  readonly steps?: string;
  readonly points?: string;
  readonly fit?: readonly string[];
  readonly accelerator: AcceleratorName;
  readonly parameters: number;
  readonly weightBytes?: number;
  readonly kvBytes: number;
  readonly out?: string;
  readonly json: boolean;
}

/** `pointsman calibrate`. */
export function calibrateCommand(): Command {
  return new Command('calibrate')
    .description(
      'fit the stub’s step time to what was measured on a real engine, and say how well it fits',
    )
    .option(
      '--steps <csv>',
      'measured steps: prefill_tokens, decode_sequences, context_tokens, step_ms',
    )
    .option(
      '--points <csv>',
      'a benchmark’s figures at several request rates; see docs/stub-accuracy.md',
    )
    .option('--fit <configs>', 'of the points, fit on these and predict the others', (text) =>
      text.split(','),
    )
    .addOption(
      new Option('--accelerator <name>', 'where a fit starts from')
        .choices(Object.keys(ACCELERATORS))
        .default('h100'),
    )
    .option('--parameters <n>', 'of the model', positive, LLAMA_8B.parameters)
    .option('--weight-bytes <n>', 'of the model; two a parameter unless said', positive)
    .option('--kv-bytes <n>', 'of one token’s keys and values', positive, LLAMA_8B.kvBytesPerToken)
    .option('--out <file>', 'write the coefficients there, in YAML')
    .option('--json', 'print one JSON document', false)
    .action((flags: CalibrateFlags) => {
      if ((flags.steps === undefined) === (flags.points === undefined)) {
        const message = 'give either --steps or --points';
        throw new ConfigError('calibrate', [{ path: 'options', message }]);
      }
      if (flags.steps === undefined) calibratePoints(flags);
      else calibrateSteps(flags, flags.steps);
    });
}

function calibrateSteps(flags: CalibrateFlags, path: string): void {
  const steps = readSteps(readFileSync(path, 'utf8'), path);
  const latency = fitSteps(steps, priorsOf(flags));
  tell(flags, { value: { latency }, text: renderSteps(steps, latency) });
}

function calibratePoints(flags: CalibrateFlags): void {
  const { points: path = '' } = flags;
  const points = readServingPoints(readFileSync(path, 'utf8'), path);
  const configs = [...new Set(points.map(({ config }) => config))];
  const fittedOn = flags.fit ?? configs;
  for (const name of fittedOn) {
    if (configs.includes(name)) continue;
    const message = `${name} is not among ${configs.join(', ')}`;
    throw new ConfigError(path, [{ path: '--fit', message }]);
  }
  const chosen = points.filter(({ config }) => fittedOn.includes(config));
  const calibrated = fitPoints(chosen, priorsOf(flags), (iteration, loss) => {
    process.stderr.write(`  iteration ${iteration}, misfit ${loss.toFixed(1)}\n`);
  });
  const report: CalibrationReport = reportOn(points, { calibrated, fittedOn });
  tell(flags, { value: report, text: renderReport(report), coefficients: calibrated });
}

function priorsOf({
  accelerator,
  parameters,
  weightBytes,
  kvBytes,
}: CalibrateFlags): readonly LogPrior[] {
  const model = {
    parameters,
    weightBytes: weightBytes ?? 2 * parameters,
    kvBytesPerToken: kvBytes,
  };
  return hardwarePriors(model, ACCELERATORS[accelerator]);
}

function tell(
  { json, out }: CalibrateFlags,
  { value, text, coefficients = value }: { value: object; text: string; coefficients?: object },
): void {
  if (out !== undefined) writeFileSync(out, stringify(coefficients));
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : text);
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError(`${text} is not a number above 0`);
  return value;
}
