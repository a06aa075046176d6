import { apiPath } from '../../../src/openai/api-path.ts';
import { selectReading } from '../../../src/openai/parsers/select-reading.ts';
import { type FuzzTarget, promise, utf8 } from '../target.ts';

const latin1 = new TextDecoder('latin1');
const readingOf = selectReading();
const CHAT = '/v1/chat/completions';

/** The path as uvicorn gives it to its routes: without query and fragment, decoded once. */
function uvicornPath(path: string): string {
  const bare = path.split(/[?#]/)[0] ?? '';
  return bare.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** Whatever vLLM's server takes for a chat completion is read as one. */
export const apiPaths: FuzzTarget = {
  name: 'api-path',
  seeds: [CHAT, '/v1/chat%2Fcompletions?x=%00', '/V1//./chat/a/../completions;b=c/', '/%2563'].map(
    utf8,
  ),
  words: ['%2f', '%0a', '%2e', '..', ';', '//', '?', '#', '%', CHAT],
  run: (input) => {
    const path = latin1.decode(input);
    const read = apiPath(path);
    const shape = readingOf(path)?.shape;
    // Python's `$` matches before a line feed at the end, too.
    if (/^\/v1\/chat\/completions\n?$/.test(uvicornPath(path))) {
      promise(shape?.name === 'a chat completion', () => `${JSON.stringify(path)} is ${read}`);
    }
    return `${shape?.name ?? 'none'} ${read.length === path.length}`;
  },
};
