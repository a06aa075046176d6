#!/usr/bin/env node
import { Command } from 'commander';
import { scorers } from '../scorers/index.ts';
import { calibrateCommand } from '../stub-server/calibration/calibrate-command.ts';
import { stubCommand } from '../stub-server/main.ts';
import { checkCommand } from './cli/check-command.ts';
import { serveCommand } from './cli/serve-command.ts';
import { untilSignal } from './cli/until-signal.ts';
import { demoCommand } from './demo/demo-command.ts';
import { ConfigError } from './framework/error.ts';
import { gatewayCommand } from './gateway/gateway-command.ts';
import { simulateCommand } from './simulate/simulate-command.ts';
import { TraceError } from './traces/trace.ts';

const program = new Command('pointsman')
  .description('An endpoint picker for LLM inference, behind Envoy')
  .showHelpAfterError()
  .addCommand(serveCommand(scorers))
  .addCommand(stubCommand(untilSignal))
  .addCommand(gatewayCommand())
  .addCommand(demoCommand())
  .addCommand(checkCommand(scorers))
  .addCommand(simulateCommand())
  .addCommand(calibrateCommand());

try {
  await program.parseAsync();
} catch (error) {
  // A bad configuration or trace is the user's to mend: the sentence is enough, a stack trace would hide it.
  if (!(error instanceof ConfigError || error instanceof TraceError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
