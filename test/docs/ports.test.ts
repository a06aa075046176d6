import { expect, it } from 'vitest';
import { type CodeBlock, codeBlocks, GUIDES } from './doc-code.ts';

/** The commands that stay and listen, in a block; a line that ends with `\` goes on in the next. */
function serversOf({ code }: CodeBlock): readonly string[] {
  return code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => /pointsman (?:stub|serve|gateway)\b/.test(line));
}

/** The ports that a command takes, by the defaults where it names none. */
function portsOf(command: string): readonly number[] {
  const flag = (name: string, otherwise: number): number =>
    Number(new RegExp(`--${name} (\\d+)`).exec(command)?.[1] ?? otherwise);
  if (command.includes('pointsman gateway')) return [flag('port', 8081)];
  if (command.includes('pointsman serve')) {
    return [flag('extproc-port', 9002), flag('metrics-port', 9090)];
  }
  return Array.from({ length: flag('count', 8) }, (_, at) => flag('port', 8000) + at);
}

const blocks = GUIDES.flatMap(codeBlocks).filter(
  (block) => block.language === 'sh' && serversOf(block).some((line) => line.includes('stub')),
);
const together = blocks.filter((block) => serversOf(block).some((line) => !line.includes('stub')));

it('[O412] there are guides that start stubs beside a picker', () => {
  expect(together.length).toBeGreaterThan(2);
});

it.each(together.map((block) => [`${block.file}:${block.line}`, block] as const))(
  '[O412] %s starts servers on ports of their own, each without waiting for its end',
  (_, block) => {
    const ports = serversOf(block).flatMap(portsOf);
    expect(ports.filter((port, at) => ports.indexOf(port) !== at)).toEqual([]);
    for (const line of serversOf(block)) expect(line).toMatch(/&(?:\s+#.*)?$/);
  },
);
