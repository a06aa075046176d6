import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageFile } from '../../src/files/folders.ts';
import { type BuiltGoProgram, buildGoProgram } from './go-program.ts';

const SOURCE = 'test/reference/loader/main.go';

/**
 * A program that says which configurations the loader of the reference takes: that of the last
 * release of the module that llm-d-router grew from. Built once for each state of its source.
 */
export function buildReferenceLoader(
  log: (line: string) => void,
): Promise<BuiltGoProgram | { readonly unavailable: string }> {
  const source = readFileSync(packageFile(SOURCE), 'utf8');
  const state = createHash('sha256').update(source).digest('hex').slice(0, 12);
  const program = {
    title: 'the loader of configurations',
    name: `reference-loader-${state}`,
    module: 'sigs.k8s.io/gateway-api-inference-extension',
    version: 'v1.5.0',
    folder: 'loader',
    source,
    go: '1.25.0',
  };
  return buildGoProgram(program, log);
}
