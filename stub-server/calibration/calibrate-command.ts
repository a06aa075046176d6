import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'yaml';
import { writeWhole } from '../../src/files/writing/write-whole.ts';
import { ConfigError } from '../../src/framework/error.ts';
import { renderReport, reportOn } from './calibration-report.ts';
import { fitPoints } from './fit-points.ts';
import { fitSteps, readSteps, renderSteps } from './fit-steps.ts';
import type { LogPrior } from './gauss-newton.ts';
import { ACCELERATORS, type AcceleratorName, hardwarePriors, LLAMA_8B } from './hardware.ts';
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

export function calibrateCommand(): Command {
  return new Command('calibrate')
    .description(
      'fit the stub’s step time to measurements of a real engine, and report the errors of the fit',
    )
    .option(
      '--steps <csv>',
      'measured steps with the columns prefill_tokens, decode_sequences, context_tokens, step_ms',
    )
    .option('--points <csv>', 'a benchmark’s results at several rates; see docs/stub-accuracy.md')
    .option('--fit <configs>', 'fit on these configurations, predict the others', (text) =>
      text.split(','),
    )
    .addOption(
      new Option('--accelerator <name>', 'accelerator whose data sheet the fit starts from')
        .choices(Object.keys(ACCELERATORS))
        .default('h100'),
    )
    .option('--parameters <n>', 'parameters of the model', positive, LLAMA_8B.parameters)
    .option('--weight-bytes <n>', 'size of the weights (default: 2 per parameter)', positive)
    .option(
      '--kv-bytes <n>',
      'size of one token’s keys and values',
      positive,
      LLAMA_8B.kvBytesPerToken,
    )
    .option('--out <file>', 'write the coefficients to this file, in YAML')
    .option('--json', 'print the result as one JSON document', false)
    .action((flags: CalibrateFlags) => {
      if ((flags.steps === undefined) === (flags.points === undefined)) {
        const message =
          'give --steps <csv> or --points <csv>, one of them; `--help` says what is in each';
        throw new ConfigError('calibrate', [{ path: 'options', message }]);
      }
      if (flags.steps === undefined) calibratePoints(flags);
      else calibrateSteps(flags, flags.steps);
    });
}

function calibrateSteps(flags: CalibrateFlags, path: string): void {
  const steps = readSteps(readFileSync(path, 'utf8'), path);
  const latency = fitSteps(steps, priorsOf(flags));
  writeResult(flags, { value: { latency }, text: renderSteps(steps, latency) });
}

function calibratePoints(flags: CalibrateFlags): void {
  const { points: path = '' } = flags;
  const points = readServingPoints(readFileSync(path, 'utf8'), path);
  const configs = [...new Set(points.map(({ config }) => config))];
  const fittedOn = flags.fit ?? configs;
  for (const name of fittedOn) {
    if (configs.includes(name)) continue;
    const message = `${name} is not a configuration of the file: choose from ${configs.join(', ')}`;
    throw new ConfigError(path, [{ path: '--fit', message }]);
  }
  const chosen = points.filter(({ config }) => fittedOn.includes(config));
  const calibrated = fitPoints(chosen, priorsOf(flags), (iteration, loss) => {
    process.stderr.write(`  iteration ${iteration}, misfit ${loss.toFixed(1)}\n`);
  });
  const report = reportOn(points, { calibrated, fittedOn });
  writeResult(flags, {
    value: report,
    text: renderReport(report),
    coefficients: calibrated.engine,
  });
}

function priorsOf(flags: CalibrateFlags): readonly LogPrior[] {
  const { parameters, weightBytes = 2 * parameters, kvBytes: kvBytesPerToken } = flags;
  const model = { parameters, weightBytes, kvBytesPerToken };
  return hardwarePriors(model, ACCELERATORS[flags.accelerator]);
}

function writeResult(
  { json, out }: CalibrateFlags,
  { value, text, coefficients = value }: { value: object; text: string; coefficients?: object },
): void {
  if (out !== undefined) writeWhole(out, [stringify(coefficients)]);
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : text);
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError(`${text} is not a number above 0.`);
  return value;
}
