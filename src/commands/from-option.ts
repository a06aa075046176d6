import { Option } from 'commander';
import { TRACE_FORMATS } from '../lab/traces/reading/find-format.ts';

/** `--from <format>`. */
export function fromOption(): Option {
  const readable = [...TRACE_FORMATS.map(({ name }) => name), 'capture'];
  return new Option(
    '--from <format>',
    'the trace’s format, where it is not told from the first line',
  ).choices(readable);
}
