/** What a terminal has that reads keys. */
export type Keys = Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode' | 'on'>;

/** The signals that a terminal sends itself while it hands over whole lines. */
const SIGNALS: readonly (readonly [key: string, signal: NodeJS.Signals])[] = [
  ['q', 'SIGINT'],
  ['\u0003', 'SIGINT'],
  ['\u001a', 'SIGTSTP'],
];

/**
 * Ends the program at `q` as at Ctrl-C, and shows none of the keys that are pressed. Does nothing
 * where standard input is no terminal.
 */
export function endAtKey(
  keys: Keys = process.stdin,
  send: (signal: NodeJS.Signals) => void = toGroup,
): void {
  if (!keys.isTTY) return;
  keys.setRawMode(true);
  process.on('SIGCONT', () => keys.setRawMode(true));
  keys.on('data', (chunk: Buffer) => {
    const pressed = chunk.toString();
    const signal = SIGNALS.find(([key]) => pressed.includes(key))?.[1];
    if (signal === undefined) return;
    keys.setRawMode(false);
    send(signal);
  });
}

/** To npx and the launcher, too, as a terminal does. */
function toGroup(signal: NodeJS.Signals): void {
  process.kill(0, signal);
}
