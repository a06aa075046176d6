import { type Command, InvalidArgumentError } from 'commander';
import { ConfigError } from '../../framework/error.ts';
import type { TraceShape } from './shape-trace.ts';

export interface ShapeFlags {
  readonly merge: readonly string[];
  readonly shift: number;
  readonly loop: number;
  readonly thin: number;
}

/** Adds the options of what is made of a trace before it is used. */
export function addShapeOptions(command: Command): Command {
  return command
    .option('--merge <file>', 'put in another trace’s requests; several times', collect, [])
    .option(
      '--shift <ms>',
      'begin what --merge adds so much later, or earlier; without --merge the trace itself',
      finite,
      0,
    )
    .option('--loop <times>', 'the trace so many times, one after another', times, 1)
    .option('--thin <share>', 'keep this share of the conversations, such as 0.25', share, 1);
}

/** Throws ConfigError where options do not go together. */
export function shapeOf({ merge, shift, loop, thin }: ShapeFlags): TraceShape {
  if (shift >= 0 || merge.length > 0) return { merge, shiftMs: shift, loop, thin };
  const message = `${shift} ms is before the beginning; only what --merge adds can begin earlier`;
  throw new ConfigError('trace', [{ path: '--shift', message }]);
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function finite(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new InvalidArgumentError(`${text} is not a number of milliseconds`);
}

function times(text: string): number {
  const value = finite(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError(`${text} is not a whole number of 1 or more`);
}

function share(text: string): number {
  const value = finite(text);
  if (value > 0 && value <= 1) return value;
  throw new InvalidArgumentError(`${text} is not above 0 and at most 1`);
}
