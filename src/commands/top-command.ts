import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { LiveMessage } from '../serve/live/live-message.ts';
import { type AdminFlags, addAdminOptions } from './admin-client/ask-picker.ts';
import { CommandFailure } from './admin-client/command-errors.ts';
import { readEvents } from './admin-client/read-events.ts';
import { endAtKey } from './output/end-at-key.ts';
import { stdoutColumns } from './output/fitting-columns.ts';
import { printable } from './output/printable.ts';
import { afterMessage, type TopState, topText } from './output/top-text.ts';

const STREAM = '/debug/live';
const RETRY_MS = 1000;
const HOME = '\u001b[H';
const CLEAR = '\u001b[2J';
const CLEAR_LINE = '\u001b[K';
const CLEAR_REST = '\u001b[J';
/** Some terminals do not say how large they are. */
const LINES_DEFAULT = 40;
const COLUMNS_DEFAULT = 160;

interface TopFlags extends AdminFlags {
  readonly once: boolean;
  readonly json: boolean;
}

/** `pointsman top`: the live page in a terminal. */
export function topCommand(): Command {
  return addAdminOptions(new Command('top'))
    .description('show what a running picker does and why, updated every second; q ends it')
    .option('--once', 'print once and exit, as into a pipe', false)
    .option('--json', 'print one JSON document and exit', false)
    .action(async ({ once, json, ...flags }: TopFlags) => {
      if (json || once || !process.stdout.isTTY)
        await printOnce(flags, json ? documentText : pageText);
      else await follow(flags);
    });
}

/** A pipe gets one page: later ones would be appended to it. */
async function printOnce(
  flags: AdminFlags,
  textOf: (message: LiveMessage) => string,
): Promise<void> {
  const print = (message: LiveMessage): boolean => {
    process.stdout.write(textOf(message));
    return false;
  };
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  await readEvents(flags, STREAM, print, { note });
}

function documentText(message: LiveMessage): string {
  return `${JSON.stringify(message)}\n`;
}

function pageText(message: LiveMessage): string {
  const size = { lines: Number.POSITIVE_INFINITY, columns: stdoutColumns() };
  const state = afterMessage(undefined, message);
  return state === undefined ? '' : printable(topText(state, size));
}

/** Draws in place until the user ends it. A picker that has gone is asked again. */
async function follow(flags: AdminFlags): Promise<never> {
  let state: TopState | undefined;
  process.stdout.write(CLEAR);
  endAtKey();
  const draw = (note: string): void => {
    const lines = (process.stdout.rows || LINES_DEFAULT) - 1;
    const columns = process.stdout.columns || COLUMNS_DEFAULT;
    const text = state === undefined ? '' : topText(state, { lines, columns });
    const drawn = printable(`${text}${note.slice(0, columns)}`)
      .split('\n')
      .map((line) => line + CLEAR_LINE);
    process.stdout.write(`${HOME}${drawn.join('\n')}${CLEAR_REST}`);
  };
  for (;;) {
    let note = 'the picker has ended the stream, trying again';
    try {
      const show = (message: LiveMessage): boolean => {
        state = afterMessage(state, message);
        draw('');
        return true;
      };
      await readEvents(flags, STREAM, show, { note: draw });
    } catch (error) {
      // What was wrong from the beginning does not mend itself.
      if (state === undefined) throw error;
      if (error instanceof CommandFailure) note = error.message;
    }
    draw(note);
    await sleep(RETRY_MS);
  }
}
